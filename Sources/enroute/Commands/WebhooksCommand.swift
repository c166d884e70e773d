// enroute webhooks: adds, tests and removes webhooks directly in Redis, so it needs no gateway and no token.

import ArgumentParser
import Foundation
import LiveState
import NIOCore
import Redis
import Webhooks

struct WebhooksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhooks",
        abstract: "Manages the endpoints of other systems that receive events.",
        usage: """
            enroute webhooks add <url> [--type <type>]... [<options>]
            enroute webhooks list [<options>]
            enroute webhooks test|rotate|replay|undelivered|remove <id> [<options>]
            """,
        discussion: wrappable(
            """
            Uses the same configuration as serve, and changes the ledger Redis; gateways notice within seconds. Events are
            signed as the Standard Webhooks specification says, and sent again until the endpoint accepts them. Exit codes:
            0 done, 1 there is no such webhook, or the test event was not accepted, 69 Redis is unavailable, 78 invalid
            configuration.

            Examples:
              enroute webhooks add https://shop.example/hooks/enroute
              enroute webhooks add https://shop.example/hooks/enroute \\
                --type enroute.job.status.changed --type enroute.job.closed
              enroute webhooks list --json
              enroute webhooks test wh_2k4j1
              enroute webhooks replay wh_2k4j1
            """),
        subcommands: [Add.self, List.self, Test.self, Rotate.self, Undelivered.self, Replay.self, Remove.self])

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Adds an endpoint and prints its secret.")

        @Argument(help: "The https URL that receives the events.")
        var url: String

        @Option(
            name: .customLong("type"), help: "Only events of this type. Repeat it for several. Without it, all events.")
        var types: [String] = []

        @OptionGroup var options: Options

        func run() async throws {
            try await self.options.connected { webhooks in
                let webhook = try await webhooks.add(url: self.url, types: self.types)
                try self.options.say(
                    WebhookDocument(webhook, withSecret: true),
                    """
                    added \(webhook.id)
                    secret \(webhook.secrets.first?.text ?? "")
                    The secret is not shown again. Verify every request with it, then: enroute webhooks test \(webhook.id)
                    """)
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the webhooks, and how they respond.")

        @OptionGroup var options: Options

        private struct Document: Encodable { var webhooks: [WebhookDocument] }

        func run() async throws {
            try await self.options.connected { webhooks in
                let all = try await webhooks.all()
                try self.options.say(
                    Document(webhooks: all.map { WebhookDocument($0) }),
                    all.isEmpty ? "There are no webhooks." : all.map { Self.line($0) }.joined(separator: "\n"))
            }
        }

        private static func line(_ webhook: Webhook) -> String {
            let state =
                if !webhook.isOn {
                    "off: \(webhook.offReason)"
                } else if webhook.failingSince != nil || !webhook.lastError.isEmpty {
                    "failing: \(webhook.lastError)"
                } else {
                    "on"
                }
            let types = webhook.kinds.isEmpty ? "all events" : webhook.kinds.map(\.rawValue).joined(separator: ", ")
            return
                "\(webhook.id)  \(webhook.url)\n    \(state); \(webhook.waiting) waiting, \(webhook.undelivered) undelivered; \(types)"
        }
    }

    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sends a test event. If accepted, the webhook is switched on, and waiting events are sent.")

        @OptionGroup var target: Target

        func run() async throws {
            try await self.target.perform {
                try await $0.test($1)
            } report: { test in
                try self.target.options.say(
                    test,
                    test.delivered
                        ? "accepted in \(test.milliseconds) ms" : "not accepted: \(test.reason ?? "no reason is known")"
                )
                if !test.delivered { throw ExitCode.failure }
            }
        }
    }

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a new secret. For 24 hours, both secrets sign each event.")

        @OptionGroup var target: Target

        func run() async throws {
            try await self.target.perform {
                try await $0.rotate($1)
            } report: { webhook in
                try self.target.options.say(
                    WebhookDocument(webhook, withSecret: true), "secret \(webhook.secrets.first?.text ?? "")")
            }
        }
    }

    struct Undelivered: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the oldest \(WebhookStore.page) events that were given up.")

        @Option(help: "Only events after this entry of the list.")
        var after: String?

        @OptionGroup var target: Target

        private struct Document: Encodable { var events: [UndeliveredDocument] }

        func run() async throws {
            try await self.target.perform {
                try await $0.undelivered($1, after: self.after)
            } report: { found in
                let events = found.events.map { UndeliveredDocument($0) }
                try self.target.options.say(Document(events: events), self.text(events, of: found.total))
            }
        }

        private func text(_ events: [UndeliveredDocument], of total: Int) -> String {
            guard let last = events.last else {
                return self.after.map { "No undelivered event follows \($0)." }
                    ?? "Every event was delivered, or is still waiting."
            }
            var lines = events.map {
                "\($0.entry)  \($0.id)  \($0.subject)  \($0.attempts) attempts  \($0.reason)"
            }
            if events.count == WebhookStore.page, total > events.count {
                lines += [
                    "These are \(events.count) of \(total) undelivered events. For the next ones, run:",
                    "enroute webhooks undelivered \(self.target.id) --after \(last.entry)",
                ]
            }
            return lines.joined(separator: "\n")
        }
    }

    struct Replay: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Redelivers events that were given up.")

        @Option(help: "Only the event with this id. Without it, all, at most \(WebhookOperations.longestReplay).")
        var event: String?

        @OptionGroup var target: Target

        func run() async throws {
            try await self.target.perform {
                try await $0.replay($1, only: self.event)
            } report: { result in
                let isCut = result.count == WebhookOperations.longestReplay && result.remaining > 0
                let more = isCut ? "; \(result.remaining) remain: repeat the command" : ""
                let hint = result.isOn ? "" : "; the webhook is off; switch it on with a successful test"
                try self.target.options.say(
                    ReplayDocument(result), "\(result.count) undelivered events were queued for delivery" + more + hint)
            }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Removes a webhook, and the events that are waiting for it.")

        @OptionGroup var target: Target

        private struct Document: Encodable { var removed: String }

        func run() async throws {
            try await self.target.perform {
                try await $0.remove($1) ? $1 : nil
            } report: { id in
                try self.target.options.say(Document(removed: id), "removed \(id)")
            }
        }
    }
}
