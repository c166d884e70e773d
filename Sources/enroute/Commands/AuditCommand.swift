// enroute audit: prints the audit trail, one JSON object per line.

import ArgumentParser
import EnrouteWire
import Foundation
import Gateway
import Realtime
import LiveState
import Logging
import NIOCore
import Redis

struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Prints the audit trail as JSON Lines, oldest first.",
        usage: "enroute audit [<options>]",
        discussion: wrappable(
            """
            Uses the same configuration as serve. It reads the ledger Redis and changes nothing. Each line contains the
            fields that the gateway wrote, and the id that Redis assigned: it begins with the time in ms since the epoch.
            "at" is the time by the gateway's clock. Two lines with the same "entry" are one entry that was written twice,
            because Redis's reply was lost. Malformed entries are skipped; their number is printed to standard error.

            Examples:
              enroute audit --stream access --job visit-1
              enroute audit --stream audit --since 2026-11-21T00:00:00Z
            """))

    @Option(
        help: """
            access: who followed a job, read its position or its explanation, or watched a zone; audit: erasures, \
            notes, corrections, suggestions and automatic stops.
            """)
    var stream = AuditEntry.Stream.access

    @Option(
        help: ArgumentHelp("Print only entries of this job.", valueName: "job"),
        transform: { text in
            guard let job = JobID(text) else {
                throw ValidationError("--job must be 1 to \(JobID.longest) characters of A-Z a-z 0-9 _ -.")
            }
            return job
        })
    var job: JobID?

    @Option(
        help: ArgumentHelp(
            "Print only entries from this time on, such as 2026-11-21T00:00:00Z, or ms since the epoch.",
            valueName: "time"),
        transform: { text in
            if let milliseconds = Int64(text), milliseconds >= 0 { return milliseconds }
            guard let date = try? Date(text, strategy: .iso8601) else {
                throw ValidationError("--since must be a time such as 2026-11-21T00:00:00Z, or ms since the epoch.")
            }
            return max(0, Int64(date.timeIntervalSince1970 * 1000))
        })
    var since: Int64 = 0

    @Option(help: configurationFileHelp)
    var config: String?

    func run() async throws {
        try await exitingCleanly {
            let configuration = try ProcessConfiguration(file: self.config, command: "audit")
            try await configuration.withLedger(withDev: "send GET /api/v1/zones/<zone>/audit with the token of ops") {
                try await self.print(AuditStreams(ledger: $0, settings: $1))
            }
        }
    }

    private func print(_ streams: AuditStreams) async throws {
        var start: AuditStreams.Start? = .since(self.since)
        var malformed = 0
        while let from = start {
            let page = try await streams.read(self.stream, from: from).get()
            for entry in page.entries where self.job == nil || entry.value("job") == self.job?.text {
                say(try AuditLine(entry).json())
            }
            malformed += page.malformed
            start = page.next
        }
        guard malformed > 0 else { return }
        Output.complain("enroute: \(malformed) malformed \(malformed == 1 ? "entry was" : "entries were") skipped\n")
    }
}

extension AuditEntry.Stream: ExpressibleByArgument {}

/// One entry as JSON: numbers are numbers, and empty fields are omitted.
struct AuditLine: Encodable {
    private let entry: AuditStreams.StoredEntry

    private static let numbers: Set = ["at", "keys"]

    init(_ entry: AuditStreams.StoredEntry) { self.entry = entry }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Name.self)
        try members.encode(self.entry.id, forKey: Name(stringValue: "id"))
        for field in self.entry.fields where !field.value.isEmpty {
            let name = Name(stringValue: field.name)
            if Self.numbers.contains(field.name), let number = Int64(field.value) {
                try members.encode(number, forKey: name)
            } else {
                try members.encode(field.value, forKey: name)
            }
        }
    }

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
