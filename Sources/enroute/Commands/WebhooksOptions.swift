// The options of `enroute webhooks`, and how its subcommands reach the ledger Redis and print their results.

import ArgumentParser
import Foundation
import LiveState
import NIOCore
import Redis
import Webhooks

extension WebhooksCommand {
    /// The options of all subcommands.
    struct Options: ParsableArguments {
        @Flag(help: "Print JSON, as REST returns it.")
        var json = false

        @Option(help: configurationFileHelp)
        var config: String?

        /// Runs `body` with a connection to the ledger.
        func connected(_ body: (WebhookOperations) async throws -> Void) async throws {
            try await exitingCleanly {
                let configuration = try ProcessConfiguration(file: self.config, command: "webhooks")
                let settings = try configuration.webhooks()
                try await configuration.withLedger(
                    withDev: "use its option --webhook, or /api/v1/webhooks with the token of service"
                ) { ledger, state in
                    let sender = WebhookSender(settings: settings)
                    let store = WebhookStore(ledger: ledger, settings: state)
                    do {
                        try await body(WebhookOperations(store: store, sender: sender))
                    } catch let refusal as WebhookOperations.Refusal {
                        await sender.shutdown()
                        Output.complain("enroute: \(refusal)\n")
                        throw ExitCode.failure
                    } catch {
                        await sender.shutdown()
                        throw error
                    }
                    await sender.shutdown()
                }
            }
        }

        func say(_ document: some Encodable, _ text: @autoclosure () -> String) throws {
            guard self.json else { return Output.say(text() + "\n") }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            Output.say(String(decoding: try encoder.encode(document), as: UTF8.self) + "\n")
        }
    }

    /// The arguments and options of subcommands about one webhook.
    struct Target: ParsableArguments {
        @Argument(help: "The id of the webhook.")
        var id: String

        @OptionGroup var options: Options

        /// Carries out `request`, and reports its result.
        ///
        /// - Throws: `ExitCode.failure` when there is no such webhook.
        func perform<Value>(
            _ request: (WebhookOperations, String) async throws -> Value?, report: (Value) throws -> Void
        ) async throws {
            try await self.options.connected { webhooks in
                guard let value = try await request(webhooks, self.id) else {
                    Output.complain("enroute: There is no webhook \(self.id). List them with: enroute webhooks list\n")
                    throw ExitCode.failure
                }
                try report(value)
            }
        }
    }
}
