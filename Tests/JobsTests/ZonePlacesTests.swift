import EnrouteWire
import Jobs
import Testing

/// The places of a zone across reads.
@Suite struct ZonePlacesTests {
    private static let here = Coordinate(latitude: 41.9, longitude: 12.5)!
    private static let there = Coordinate(latitude: 41.91, longitude: 12.51)!
    private static let (job, other, rider) = (JobID("job-1")!, JobID("job-2")!, PersonID("rider-1")!)

    private static func place(_ job: JobID, _ position: Coordinate? = nil) -> ZonePlace {
        ZonePlace(job: job, rider: Self.rider, destination: Self.there, position: position, at: position.map { _ in 1 })
    }

    @Test func `only places that have changed are reported, and those that are gone`() {
        var places = ZonePlaces()
        #expect(places.replaceJobs(by: [Self.place(Self.job), Self.place(Self.other)]).count == 2)
        #expect(places.replaceJobs(by: [Self.place(Self.job), Self.place(Self.other)]).isEmpty)
        let moved = Self.place(Self.job, Self.here)
        #expect(places.updateJobs([Self.job], by: [moved]) == [.job(Self.job): moved])
        #expect(places.updateJobs([Self.job], by: []) == [.job(Self.job): nil])
        #expect(places.replaceJobs(by: []) == [.job(Self.other): nil])
        #expect(places.places.isEmpty)
    }

    @Test func `riders and jobs are replaced separately`() {
        var places = ZonePlaces()
        _ = places.replaceJobs(by: [Self.place(Self.job)])
        let seen = ZonePlace(rider: Self.rider, position: Self.here, at: 5)
        #expect(places.replaceRiders(by: [seen]) == [.rider(Self.rider): seen])
        #expect(places.replaceJobs(by: []) == [.job(Self.job): nil])
        #expect(places.places == [.rider(Self.rider): seen])
        #expect(places.replaceRiders(by: []) == [.rider(Self.rider): nil])
    }

    @Test func `a job without destination and position is not on the map`() {
        var places = ZonePlaces()
        _ = places.replaceJobs(by: [Self.place(Self.job, Self.here)])
        #expect(places.updateJobs([Self.job], by: [ZonePlace(job: Self.job)]) == [.job(Self.job): nil])
    }

    @Test func `a zone has a maximum number of places`() {
        var places = ZonePlaces()
        let many = (0...ZonePlaces.maxPlaces).map { Self.place(JobID("job-\($0)")!) }
        #expect(places.replaceJobs(by: many).count == ZonePlaces.maxPlaces)
        #expect(places.places.count == ZonePlaces.maxPlaces)
    }
}
