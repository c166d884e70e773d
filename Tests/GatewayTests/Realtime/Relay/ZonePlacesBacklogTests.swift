import EnrouteWire
import Jobs
import Testing

@testable import Realtime

/// The messages that a watcher of a zone's places receives next.
@Suite struct ZonePlacesBacklogTests {
    private static let zone = ZoneID("rome")!

    private static func place(_ number: Int, at: Int64 = 1) -> ZonePlace {
        ZonePlace(job: JobID("job-\(number)")!, position: Coordinate(latitude: 41.9, longitude: 12.5)!, at: at)
    }

    private static func places(_ count: Int) -> [PlaceKey: ZonePlace] {
        Dictionary(uniqueKeysWithValues: (0..<count).map { (.job(JobID("job-\($0)")!), Self.place($0)) })
    }

    private static func all(_ backlog: inout ZonePlacesBacklog, _ places: [PlaceKey: ZonePlace]) -> [ZonePlacesView] {
        var views: [ZonePlacesView] = []
        while let view = backlog.next(of: Self.zone, places) { views.append(view) }
        return views
    }

    @Test(arguments: [0, 1, 999, 1_000, 1_001, 2_500])
    func `the list comes first, each place once, in parts of at most 1,000`(count: Int) {
        var backlog = ZonePlacesBacklog()
        let views = Self.all(&backlog, Self.places(count))
        #expect(views.count == max(1, (count + 999) / 1_000))
        #expect(views.map(\.isReset) == [true] + Array(repeating: false, count: views.count - 1))
        #expect(views.map(\.hasMore) == Array(repeating: true, count: views.count - 1) + [false])
        #expect(Set(views.flatMap(\.places)).count == count && views.flatMap(\.places).count == count)
    }

    @Test func `a place that changes several times waits once and is sent with its current state`() {
        var (backlog, places) = (ZonePlacesBacklog(), Self.places(2))
        let key = PlaceKey.job(JobID("job-0")!)
        _ = Self.all(&backlog, places)
        for at in 2...9 {
            places[key] = Self.place(0, at: Int64(at))
            backlog.note([key: places[key]])
        }
        #expect(Self.all(&backlog, places) == [ZonePlacesView(zone: Self.zone, places: [Self.place(0, at: 9)])])
    }

    @Test func `places that have disappeared are reported`() {
        var (backlog, places) = (ZonePlacesBacklog(), Self.places(1))
        let rider = PersonID("rider-1")!
        _ = Self.all(&backlog, places)
        places = [:]
        backlog.note([.job(JobID("job-0")!): nil, .rider(rider): nil])
        let view = Self.all(&backlog, places)
        #expect(view.count == 1 && view[0].goneJobs == [JobID("job-0")!] && view[0].goneRiders == [rider])
    }

    @Test func `a change before the list was requested is part of the list`() {
        var backlog = ZonePlacesBacklog()
        backlog.note([.job(JobID("job-0")!): Self.place(0)])
        #expect(Self.all(&backlog, Self.places(1)).count == 1)
    }
}
