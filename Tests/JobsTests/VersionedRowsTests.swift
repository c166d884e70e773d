import EnrouteWire
import NIOCore
import Testing

@testable import Jobs
@testable import TrafficControl

/// The rows of a zone's jobs for clients that have seen an earlier version.
@Suite struct VersionedRowsTests {
    private static let zone = ZoneID("rome")!

    private static func row(_ name: String, _ status: JobStatus = .accepted, _ tracking: JobTracking = .waiting)
        -> JobRow
    {
        JobRow(
            job: JobID(name)!, kind: .delivery, status: status, statusAt: 1, customer: PersonID("anna")!,
            tracking: tracking)
    }

    @Test func `a new client receives all rows, and afterwards only changes`() {
        var history = VersionedRows()
        history.apply([Self.row("a"), Self.row("b"), Self.row("c")])
        let first = history.rows(of: Self.zone, since: nil)
        #expect(first.isReset && first.rows.map(\.job.text) == ["a", "b", "c"] && first.count == 3)
        history.apply([Self.row("a"), Self.row("b", .preparing), Self.row("d")])
        let second = history.rows(of: Self.zone, since: first.version)
        #expect(!second.isReset && Set(second.rows.map(\.job.text)) == ["b", "d"] && second.gone.map(\.text) == ["c"])
        #expect(second.count == 3)
        let third = history.rows(of: Self.zone, since: second.version)
        #expect(!third.isReset && third.rows.isEmpty && third.gone.isEmpty && third.version == second.version)
    }

    @Test func `a read without changes keeps the version`() {
        var history = VersionedRows()
        history.apply([Self.row("a")])
        let version = history.version
        history.apply([Self.row("a")])
        #expect(history.version == version)
        history.apply([Self.row("a", .accepted, .stale)])
        #expect(history.version == version + 1)
    }

    @Test func `a job that was removed and added again is a row, and not among the removed jobs`() {
        var history = VersionedRows()
        history.apply([Self.row("a"), Self.row("b")])
        let seen = history.rows(of: Self.zone, since: nil).version
        history.apply([Self.row("a")])
        history.apply([Self.row("a"), Self.row("b")])
        let changes = history.rows(of: Self.zone, since: seen)
        #expect(changes.rows.map(\.job.text) == ["b"] && changes.gone.isEmpty)
    }

    @Test func `an unknown version, of another gateway or malformed, is answered with all rows`() {
        var history = VersionedRows(epoch: "mine")
        history.apply([Self.row("a")])
        for unknown in ["yours.1", "mine.9", "mine.0", "mine", "", "mine.x", "mine.1.1"] {
            #expect(history.rows(of: Self.zone, since: unknown).isReset, "\(unknown)")
        }
        #expect(!history.rows(of: Self.zone, since: "mine.1").isReset)
    }

    @Test func `a client that missed more removals than are remembered receives all rows`() {
        var history = VersionedRows()
        history.apply((0...VersionedRows.maxRemovals).map { Self.row("job-\($0)") } + [Self.row("stays")])
        let early = history.rows(of: Self.zone, since: nil).version
        history.apply((1...VersionedRows.maxRemovals).map { Self.row("job-\($0)") } + [Self.row("stays")])
        let late = history.rows(of: Self.zone, since: nil).version
        history.apply([Self.row("stays")])
        #expect(history.rows(of: Self.zone, since: early).isReset)
        let changes = history.rows(of: Self.zone, since: late)
        #expect(!changes.isReset && changes.gone.count == VersionedRows.maxRemovals)
    }

    @Test func `pages follow each other by job id until there is no next one`() {
        var history = VersionedRows()
        history.apply(["d", "a", "c", "b", "e"].map { Self.row($0, $0 == "c" ? .preparing : .accepted) })
        var (seen, last): ([String], JobID?) = ([], nil)
        repeat {
            let page = history.page(of: Self.zone, after: last, limit: 2) { $0.status == .accepted }
            #expect(page.rows.count <= 2 && page.count == 5)
            seen += page.rows.map(\.job.text)
            last = page.next
        } while last != nil
        #expect(seen == ["a", "b", "d", "e"])
    }

    @Test func `a window of durations drops the oldest and reports the median and the 95th percentile`() {
        var window = LatencyWindow(capacity: 100)
        #expect(window.percentile(50) == nil)
        window.add(.seconds(100))
        #expect(window.percentile(50) == 100_000 && window.percentile(95) == 100_000)
        for milliseconds in 1...100 { window.add(.milliseconds(Int64(milliseconds))) }
        #expect(window.percentile(50) == 50 && window.percentile(95) == 95 && window.percentile(100) == 100)
    }
}
