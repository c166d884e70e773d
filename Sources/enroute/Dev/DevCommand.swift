// enroute dev: runs a gateway for developing apps on this machine, with its own redis-server, until the command ends.

import Access
import ArgumentParser
import AsyncHTTPClient
import Embedded
import EnrouteWire
import Foundation
import Gateway
import Logging
import NIOPosix
import REST
import Realtime
import TrafficControl
import Webhooks

struct DevCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dev",
        abstract: "Runs a gateway to develop with, and prints tokens and commands.",
        usage: "enroute dev [<options>]",
        discussion: wrappable(
            """
            Starts a redis-server on a unix socket and a gateway on http://127.0.0.1:8080 that pages on localhost may use.
            Prints four tokens that are valid for a day, curl commands ready to paste, and a command that follows a job with
            Node.js. The output is a shell script; the comments say what each command does. Ctrl-C stops everything.

            With --webhook, a program on this machine receives the gateway's events (deploy/webhooks.md). The output has their
            secret and a command that sends a test. Events that are not accepted are sent again every two seconds, for an
            hour.

            The folder .enroute-dev contains the tokens, enroute.js and an example, and is removed on exit. `enroute job` and
            `enroute rider` find the gateway and its tokens there, without any option, and `enroute token` makes tokens for
            other people: enroute token rider-2 --role rider. All data is deleted on exit. Not for production: see `enroute
            serve`. Exit codes: 0 stopped, 69 the port is in use or redis-server is missing, 78 the folder cannot be written.

            Examples:
              enroute dev
              enroute dev --seed-jobs 20 --port 8081
              enroute dev --webhook http://localhost:3001/hooks
              enroute dev --json > dev.json
            """))

    @Option(help: "Port to listen on, on 127.0.0.1: 1 to 65535, or 0 for any free one.")
    var port = 8080

    @Option(help: "Number of additional jobs with moving riders, 0 to \(DevRiders.most): seed-1, seed-2 and so on.")
    var seedJobs = 0

    @Option(
        name: .customLong("webhook"),
        help: ArgumentHelp(
            "Send events to this URL: https, or http on this machine. Repeat it for several.", valueName: "url"))
    var webhooks: [String] = []

    @Option(
        help: ArgumentHelp(
            "Sign events with this secret instead of a new one: whsec_ and 24 to 64 bytes in base64.",
            valueName: "secret"))
    var webhookSecret: String?

    @Option(help: ArgumentHelp("Folder for tokens, enroute.js and the example.", valueName: "folder"))
    var folder = DevFolder.name

    @Flag(help: "Print one line of JSON with the URL, the tokens and the commands, for scripts.")
    var json = false

    func validate() throws {
        guard (0...65_535).contains(self.port) else { throw ValidationError("--port must be 0 to 65535.") }
        guard (0...DevRiders.most).contains(self.seedJobs) else {
            throw ValidationError("--seed-jobs must be 0 to \(DevRiders.most).")
        }
        for url in self.webhooks {
            do throws(EndpointURL.Invalid) { try DevWebhook.check(url) } catch {
                throw ValidationError("--webhook \(url): the URL \(error)")
            }
        }
        guard let webhookSecret else { return }
        guard WebhookSignature.key(of: webhookSecret) != nil else {
            throw ValidationError("--webhook-secret must be whsec_ and 24 to 64 bytes in base64.")
        }
        guard !self.webhooks.isEmpty else { throw ValidationError("--webhook-secret needs --webhook.") }
    }

    func run() async throws {
        prepareForCrash()
        try await exitingCleanly {
            let folder = try DevFolder(path: self.folder)
            defer { folder.remove() }
            do {
                try await untilSignal {
                    try await RedisServer.running { redis in try await self.serve(redis, folder) }
                }
            } catch let failure as RedisServer.Failure {
                throw Unavailable(description: failure.description)
            } catch GatewayServer.StartFailure.portTaken {
                throw Unavailable(
                    description:
                        "Port \(self.port) is in use. Choose another one with --port, or --port 0 for any free one.")
            } catch let refusal as WebhookOperations.Refusal {
                throw ValidationError("--webhook: \(refusal)")
            }
            if !self.json { say("# enroute dev: stopped; the redis-server and all data are gone.") }
        }
    }

    /// Runs the gateway until the task is cancelled.
    private func serve(_ redis: RedisServer, _ folder: DevFolder) async throws {
        let signing = DevSigning.make()
        let client = HTTPClient()
        defer { client.shutdown { _ in } }
        let mint = try await TokenMint(
            secret: signing.secret, issuer: signing.issuer, audience: signing.audience)
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let settings = try await self.settings(redis, signing)
        let webhooks = try await DevWebhook.add(
            self.webhooks, secret: self.webhookSecret ?? WebhookSignature.makeSecret(), to: settings,
            logger: Self.logger)
        let gateway = GatewayServer(
            settings: settings, group: MultiThreadedEventLoopGroup.singleton, logger: Self.logger
        ) { port.yield($0.gateway) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await gateway.run() }
            group.addTask {
                guard let port = await ports.first(where: { _ in true }) else { return }
                let orders = DemoOrders(
                    mint: mint, url: "http://127.0.0.1:\(port)", client: client,
                    report: { Output.complain("enroute dev: \($0) Retrying.\n") })
                try await self.open(orders, signing, webhooks, folder)
            }
            // The first one to end has failed, because both run until they are cancelled.
            try await group.next()
        }
    }

    /// Announces the gateway and moves the riders, until the task is cancelled.
    private func open(
        _ orders: DemoOrders, _ signing: DevSigning, _ webhooks: [DevWebhook], _ folder: DevFolder
    ) async throws {
        let riders = DevRiders(orders: orders)
        try await riders.describe(DevGuide.rider)
        let guide = try await DevGuide(
            url: orders.url, folder: folder.path, webhooks: webhooks, mint: orders.mint)
        try folder.write(guide, signing)
        say(self.json ? try guide.json : guide.text(seedJobs: self.seedJobs))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await riders.keepReachable(DevGuide.rider) }
            group.addTask { try await riders.move(self.seedJobs) }
            // If one of them ends, it has failed.
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func settings(_ redis: RedisServer, _ signing: DevSigning) async throws -> GatewaySettings {
        var settings = try await GatewaySettings.onThisMachine(
            live: redis.url, ledger: redis.url, secret: signing.secret, issuer: signing.issuer, port: self.port)
        settings.origins = .ownAndLoopback
        settings.webhooks = .development
        settings.liftLimitsOfAddresses()
        return settings
    }

    /// Warnings and errors only, on standard error.
    private static var logger: Logger {
        var logger = Logger(label: "enroute") { _ in LogLineHandler() }
        logger.logLevel = .warning
        return logger
    }
}
