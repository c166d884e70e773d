import EnrouteWire
import NIOCore
import Testing

@testable import Jobs

/// The changes that reads of a zone cause for its watchers.
@Suite struct ZoneRowsTests {
    private static func row(_ name: String, _ status: JobStatus = .accepted, deadline: Int64? = nil) -> JobRow {
        JobRow(
            job: JobID(name)!, kind: .delivery, status: status, statusAt: 1, customer: PersonID("anna")!,
            tracking: .waiting, deadline: deadline)
    }

    @Test func `a read of the whole zone names what is new, what has changed and what is gone`() {
        var rows = ZoneRows()
        let first = rows.replace(by: ["a", "b", "c"].map { Self.row($0) })
        #expect(first.rows.count == 3 && first.gone.isEmpty)
        let second = rows.replace(by: [Self.row("a"), Self.row("b", .preparing), Self.row("d")])
        #expect(Set(second.rows.map(\.job.text)) == ["b", "d"] && second.gone.map(\.text) == ["c"])
        let third = rows.replace(by: Array(rows.rows.values))
        #expect(third.isEmpty)
    }

    @Test func `a read of some jobs changes only these`() {
        var rows = ZoneRows()
        _ = rows.replace(by: ["a", "b"].map { Self.row($0) })
        let jobs = ["a", "b", "x", "new"].map { JobID($0)! }
        let changes = rows.update(jobs, by: [Self.row("a"), Self.row("new")])
        #expect(changes.rows.map(\.job.text) == ["new"] && changes.gone.map(\.text) == ["b"])
        #expect(Set(rows.rows.keys.map(\.text)) == ["a", "new"])
    }

    @Test func `jobs whose riders share positions are known, because time changes them`() {
        var rows = ZoneRows()
        _ = rows.replace(by: [Self.row("a"), Self.row("b", deadline: 1)])
        #expect(rows.sharing.map(\.text) == ["b"])
    }

    @Test func `no zone has more rows than the bound, and known ones still change`() {
        var rows = ZoneRows()
        _ = rows.replace(by: (0..<ZoneRows.maxRows).map { Self.row("job-\($0)") })
        let changes = rows.update(
            [JobID("more")!, JobID("job-0")!], by: [Self.row("more"), Self.row("job-0", .preparing)])
        #expect(rows.rows.count == ZoneRows.maxRows && changes.rows.map(\.job.text) == ["job-0"])
    }
}
