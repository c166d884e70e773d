import EnrouteWire
import Foundation
import TestSupport
import Testing

/// The documented lifecycle against the table in the code.
@Suite struct LifecycleDocumentTests {
    private static func text(_ path: String) throws -> String {
        try String(contentsOf: Checkout.root.appending(path: path), encoding: .utf8)
    }

    /// The statuses that may follow, each with the roles that may set it besides a service: `accepted` (customer, ops).
    private static func successors(of status: JobStatus, in kind: JobKind) -> [String] {
        kind.statuses.filter { $0.predecessors.contains(status) }.map { next in
            let roles = [JobParty.customer, .rider, .ops].filter { next.origins(causedBy: $0).contains(status) }
            let names = roles.map(\.rawValue).joined(separator: ", ")
            return "`\(next.rawValue)`" + (names.isEmpty ? "" : " (\(names))")
        }
    }

    @Test(arguments: JobKind.allCases)
    func `the protocol has a table of which status may follow which, and who may set it`(kind: JobKind) throws {
        let lines = try Self.text("Sources/EnrouteWire/protocol/messages.md").components(separatedBy: "\n")
        let head = try #require(lines.firstIndex(of: "| `\(kind.rawValue)` | may become |"))
        let rows = lines[(head + 2)...].prefix { $0.hasPrefix("|") }
        let expected = kind.statuses.map { status in
            let next = Self.successors(of: status, in: kind).joined(separator: ", ")
            return "| `\(status.rawValue)` | \(next.isEmpty ? "nothing: it is final" : next) |"
        }
        #expect(Array(rows) == expected)
    }

    @Test(arguments: JobKind.allCases)
    func `the description of the REST interface says which status may follow which`(kind: JobKind) throws {
        let document = try JSONValue(json: try Self.text("Sources/WebAssets/api/job-paths.json").utf8)
        let operation = document["/api/v1/jobs/{job}/status"]?["post"]
        let description = try #require(operation?["description"]?.text)
        let changes = kind.statuses.compactMap { status -> String? in
            let next = Self.successors(of: status, in: kind).joined(separator: ", ")
            return next.isEmpty ? nil : "from `\(status.rawValue)` to \(next)"
        }
        let name = kind.rawValue.prefix(1).uppercased() + kind.rawValue.dropFirst()
        let sentence = "\(name): \(changes.joined(separator: "; "))."
        #expect(description.contains(sentence), "\(sentence)")
    }

    @Test func `the documented statuses of each role are those that it may set`() throws {
        let document = try Self.text("Sources/EnrouteWire/protocol/rest-and-events.md")
        let names: [(party: JobParty, name: String)] = [
            (.rider, "the job's rider"), (.customer, "the job's customer"), (.ops, "ops"),
        ]
        for (party, name) in names {
            let rows = document.components(separatedBy: "\n").filter { $0.hasPrefix("| \(name) | `") }
            var documented: Set<String> = []
            for row in rows {
                let cells = row.components(separatedBy: " | ")
                documented.formUnion(cells[1].matches(of: /`(\w+)`/).map { String($0.1) })
            }
            let allowed = JobStatus.allCases.filter { $0.canBeCaused(by: party) }.map(\.rawValue)
            #expect(documented == Set(allowed), "\(party)")
        }
    }
}
