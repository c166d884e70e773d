import EnrouteWire
import Jobs
import Testing

@testable import Realtime

/// The messages that a watcher of a zone's jobs receives next.
@Suite struct ZoneJobsBacklogTests {
    private static let zone = ZoneID("rome")!

    private static func row(_ number: Int, _ status: JobStatus = .accepted) -> JobRow {
        JobRow(
            job: Self.job(number), kind: .delivery, status: status, statusAt: 1, customer: PersonID("anna")!,
            tracking: .waiting)
    }

    /// With leading zeros, so that ids sort like numbers.
    private static func job(_ number: Int) -> JobID { JobID("job-\(100_000 + number)")! }

    private static func table(_ count: Int) -> ZoneJobsTable {
        ZoneJobsTable(Dictionary(uniqueKeysWithValues: (0..<count).map { (Self.job($0), Self.row($0)) }))
    }

    private static func all(_ backlog: inout ZoneJobsBacklog, _ table: inout ZoneJobsTable) -> [ZoneJobsView] {
        var views: [ZoneJobsView] = []
        while let view = backlog.next(of: Self.zone, &table) { views.append(view) }
        return views
    }

    @Test(arguments: [0, 1, 99, 100, 101, 250, 300])
    func `the list comes first, each job once, in parts of at most 100`(count: Int) {
        var (backlog, table) = (ZoneJobsBacklog(), Self.table(count))
        let views = Self.all(&backlog, &table)
        #expect(views.count == max(1, (count + 99) / 100))
        #expect(views.map(\.isReset) == [true] + Array(repeating: false, count: views.count - 1))
        #expect(views.map(\.hasMore) == Array(repeating: true, count: views.count - 1) + [false])
        #expect(views.flatMap(\.jobs).map(\.job) == (0..<count).map { Self.job($0) })
        #expect(views.allSatisfy { $0.count == count && $0.gone.isEmpty })
    }

    @Test func `a job that changes many times is sent once, with its current state`() {
        var (backlog, table) = (ZoneJobsBacklog(), Self.table(3))
        _ = Self.all(&backlog, &table)
        for status in [JobStatus.preparing, .readyForPickup, .inTransit] {
            let changes = ZoneRows.Changes(rows: [Self.row(1, status)])
            table.apply(changes)
            let fits = backlog.note(changes)
            #expect(fits)
        }
        let gone = ZoneRows.Changes(gone: [Self.job(2)])
        table.apply(gone)
        let hasRoom = backlog.note(gone)
        #expect(hasRoom)
        let views = Self.all(&backlog, &table)
        #expect(
            views == [ZoneJobsView(zone: Self.zone, count: 2, jobs: [Self.row(1, .inTransit)], gone: [Self.job(2)])])
    }

    @Test func `jobs that change during the list are sent again, and others with their current state`() throws {
        var (backlog, table) = (ZoneJobsBacklog(), Self.table(150))
        let first = try #require(backlog.next(of: Self.zone, &table))
        #expect(first.jobs.count == 100 && first.hasMore)
        let changes = ZoneRows.Changes(
            rows: [Self.row(0, .preparing), Self.row(120, .preparing), Self.row(200)],
            gone: [Self.job(1), Self.job(130)])
        table.apply(changes)
        let fits = backlog.note(changes)
        #expect(fits)
        var shown = Dictionary(uniqueKeysWithValues: first.jobs.map { ($0.job, $0) })
        let rest = Self.all(&backlog, &table)
        for view in rest {
            #expect(!view.isReset)
            for row in view.jobs { shown[row.job] = row }
            for job in view.gone { shown[job] = nil }
        }
        #expect(shown == table.rows)
        #expect(rest.flatMap(\.jobs).count { $0.job == Self.job(120) } == 1)
    }

    @Test func `with more waiting jobs than the bound, the list starts again`() {
        let count = ZoneJobsBacklog.maxWaiting + 1
        var (backlog, table) = (ZoneJobsBacklog(), Self.table(count))
        _ = Self.all(&backlog, &table)
        let changes = ZoneRows.Changes(rows: (0..<count).map { Self.row($0, .preparing) })
        table.apply(changes)
        let (fits, fitsAfterwards) = (backlog.note(changes), backlog.note(changes))
        // No job waits besides the list.
        #expect(!fits && fitsAfterwards)
        let views = Self.all(&backlog, &table)
        #expect(views.first?.isReset == true && views.dropFirst().allSatisfy { !$0.isReset })
        #expect(views.flatMap(\.jobs).count == count)
        #expect(views.flatMap(\.jobs).allSatisfy { $0.status == .preparing })
    }
}
