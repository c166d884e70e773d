// The output of `enroute dev`: a shell script of at most 100 columns that sets variables and performs the first steps of an
// app. A test runs every line of it.

import Access
import EnrouteWire
import Foundation

/// Tokens and commands for a gateway.
struct DevGuide: Sendable {
    /// Without a trailing slash.
    let url: String
    /// The absolute path of the `DevFolder`.
    let folder: String
    let webhooks: [DevWebhook]
    private let tokens: [(variable: String, role: Role, token: String)]

    static let width = 100
    private static let lifetime: Int64 = 86_400
    private static let job = "visit-1"

    static let customer = DemoOrders.Party(person: PersonID("anna")!, role: .customer)
    static let rider = DemoOrders.Party(person: PersonID("rider-1")!, role: .rider)
    static let service = DemoOrders.Party(person: PersonID("orders")!, role: .service)
    static let operations = DemoOrders.Party(person: PersonID("operator-1")!, role: .ops)

    private static let parties = [
        ("CUSTOMER", Self.customer), ("RIDER", Self.rider), ("SERVICE", Self.service), ("OPERATIONS", Self.operations),
    ]

    init(url: String, folder: String, webhooks: [DevWebhook], mint: TokenMint) async throws {
        (self.url, self.folder, self.webhooks) = (url, folder, webhooks)
        var tokens: [(String, Role, String)] = []
        for (variable, party) in Self.parties {
            let now = Int64(Date.now.timeIntervalSince1970)
            let token = try await mint.token(for: party.person, role: party.role, now: now, lifetime: Self.lifetime)
            tokens.append((variable, party.role, token))
        }
        self.tokens = tokens
    }

    var credentials: DevCredentials {
        DevCredentials(
            url: self.url,
            tokens: Dictionary(uniqueKeysWithValues: self.tokens.map { ($0.role.rawValue, $0.token) }))
    }

    // MARK: the script

    /// A command and its explanation.
    struct Step: Codable, Equatable {
        let title: String
        let command: String
    }

    /// Sets the variables that the commands use.
    var variables: [String] {
        [Self.export("URL", self.url)] + self.tokens.map { Self.export($0.variable, $0.token) }
            + self.webhooks.prefix(1).map { Self.export("WEBHOOK_SECRET", $0.secret) }
            + [Self.export("ENROUTE_CLIENT_FOLDER", self.folder)]
    }

    var steps: [Step] {
        Self.firstSteps
            + self.webhooks.map { webhook in
                Step(
                    title: "Sends a test event to \(webhook.url), and prints the response.",
                    command: #"curl -sS -X POST "$URL/api/v1/webhooks/\#(webhook.id)/test""#
                        + #" -H "Authorization: Bearer $SERVICE""#)
            }
    }

    private static let firstSteps = [
        Self.step(
            "The order system creates a job.", "", "SERVICE",
            body: #"{"job":"\#(Self.job)","kind":"service","customer":"\#(Self.customer.person)","#
                + #""rider":"\#(Self.rider.person)","zone":"\#(DevRiders.zone)"}"#),
        Self.step("The customer reads it.", "/\(Self.job)", "CUSTOMER"),
        Self.step(
            "The rider sets out: the order system changes the status.", "/\(Self.job)/status", "SERVICE",
            body: #"{"status":"\#(JobStatus.onTheWay.rawValue)"}"#),
        Self.step(
            "The rider's phone starts to share its location.", "/\(Self.job)/travel", "RIDER", options: " -X PUT"),
        Self.step(
            "It reports a position.", "/\(Self.job)/locations", "RIDER",
            body: #"{"fixes":[{"at":'$(date +%s)000',"lat":41.9028,"lon":12.4964,"acc":5}]}"#),
        Self.step(
            "The customer follows, by server-sent events. Ctrl-C stops it.", "/\(Self.job)/events", "CUSTOMER",
            options: " -N"),
        Step(
            title: "The same with enroute.js: read follow.mjs. Ctrl-C stops it.",
            command: #"node "$ENROUTE_CLIENT_FOLDER/follow.mjs" \#(Self.job)"#),
    ]

    private static func step(
        _ title: String, _ path: String, _ variable: String, options: String = "", body: String? = nil
    ) -> Step {
        let request = #"curl -sS\#(options) "$URL/api/v1/jobs\#(path)" -H "Authorization: Bearer $\#(variable)""#
        return Step(title: title, command: request + (body.map { " \\\n  -d '\($0)'" } ?? ""))
    }

    /// - Parameter seedJobs: the number of jobs with moving riders.
    func text(seedJobs: Int) -> String {
        var lines = [
            "# enroute dev: a gateway and a redis-server for development. Ctrl-C stops both and deletes all data.",
            "# API reference: \(self.url)/docs",
        ]
        if seedJobs > 0 {
            let jobs = seedJobs == 1 ? "seed-1" : "seed-1 to seed-\(seedJobs)"
            lines.append("# Riders move for the customer \(Self.customer.person): \(jobs).")
        }
        lines += self.webhooks.map { "# Events go to \($0.url)." }
        if !self.webhooks.isEmpty {
            lines += [
                "# They are signed with WEBHOOK_SECRET. Libraries that verify them: https://www.standardwebhooks.com",
                "# deploy/webhooks.md has a receiver to start with.",
            ]
        }
        lines += ["", "# Run these lines in another terminal. The tokens are valid for a day."] + self.variables
        for step in self.steps { lines += ["", "# \(step.title)", step.command] }
        lines += [
            "", "# A token for another person, in this folder: enroute token rider-2 --role rider",
            "# The commands of enroute find this gateway with ENROUTE_CLIENT_FOLDER, or in this folder:",
            "#   enroute job show \(Self.job)      enroute job follow \(Self.job)      enroute rider show",
        ]
        return lines.joined(separator: "\n")
    }

    /// One line with everything that scripts need.
    var json: String {
        get throws {
            struct Document: Encodable {
                var url: String
                var folder: String
                var tokens: [String: String]
                var variables: [String]
                var steps: [Step]
                var webhooks: [DevWebhook]
            }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let document = Document(
                url: self.url, folder: self.folder, tokens: self.credentials.tokens, variables: self.variables,
                steps: self.steps, webhooks: self.webhooks)
            return String(decoding: try encoder.encode(document), as: UTF8.self)
        }
    }

    /// An assignment for any POSIX shell, split into several lines if it is too long.
    static func export(_ name: String, _ value: String) -> String {
        // Between double quotes, a shell interprets only these characters, and removes a backslash at the end of a line.
        let pieces = value.map { "\\\"$`".contains($0) ? "\\\($0)" : String($0) }
        var (lines, line) = ([String](), "export \(name)=\"")
        for piece in pieces {
            // One column for the backslash or the quote at the end.
            if line.count + piece.count >= Self.width {
                lines.append(line + "\\")
                line = ""
            }
            line += piece
        }
        return (lines + [line + "\""]).joined(separator: "\n")
    }
}
