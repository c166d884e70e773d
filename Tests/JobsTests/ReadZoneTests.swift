import EnrouteWire
import NIOCore
import Testing

@testable import Jobs

/// The zones that the reader reads next.
@Suite struct ReadZoneTests {
    private static func isWhole(_ due: ReadZone.Due?) -> Bool { if case .whole = due { true } else { false } }

    private static func loaded(took: TimeAmount) -> ReadZone {
        var zone = ReadZone()
        _ = zone.apply([], .whole(and: []), took: took)
        return zone
    }

    @Test func `a zone is read as a whole at first, and again after events were missed`() {
        #expect(Self.isWhole(ReadZone().due))
        var zone = Self.loaded(took: .zero)
        #expect(zone.due == nil)
        zone.readWhole()
        #expect(Self.isWhole(zone.due))
    }

    @Test func `while events cannot be read, a read that takes long is not repeated without a pause`() throws {
        var zone = Self.loaded(took: .minutes(1))
        zone.readWhole()
        #expect(zone.due == nil)
        zone.changed = [try #require(JobID("job-1"))]
        guard case .jobs(let jobs, _) = zone.due else {
            Issue.record("a changed job is not read")
            return
        }
        #expect(jobs.count == 1)
    }

    @Test func `a read that failed is repeated after a pause`() {
        var zone = Self.loaded(took: .zero)
        zone.readFailed(took: .zero)
        #expect(Self.isWhole(zone.due))
        zone.readFailed(took: .minutes(1))
        #expect(zone.due == nil)
    }
}
