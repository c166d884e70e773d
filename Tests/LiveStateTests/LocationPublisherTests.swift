import EnrouteWire
import LiveState
import NIOCore
import TestSupport
import Testing

@Suite struct LocationPublisherTests {
    @Test func `each reply to a position has its case`() async throws {
        try await Stage.set { stage in
            let now = try await stage.now()
            func publish(_ at: Int64, _ rider: PersonID = Stage.rider) async throws -> LocationPublisher.Verdict {
                let fix = Fix(at: at, place: Coordinate(latitude: 52.5201234, longitude: 13.4049876)!)
                return try await stage.publisher.publish(fix, for: Stage.job, by: rider, receivedAt: now).get()
            }
            #expect(try await publish(now) == .unknown)
            try await stage.client.run("SET", stage.travelKey, "1 1700000000000 rider-1")
            #expect(try await publish(now) == .timeLimit(deadline: 1_700_000_000_000))
            try await stage.client.run("SET", stage.travelKey, "1 0 ")
            #expect(try await publish(now) == .travelModeOff)
            #expect(
                try await stage.feed.open(Stage.job, for: Stage.rider, until: now + 3_600_000, fence: 1).get() == .open)
            _ = try await stage.subscriber.messages.next()
            #expect(try await publish(now, Stage.customer) == .otherRider)
            #expect(try await publish(now + 120_000) == .future)
            guard case .accepted(let id, listeners: 1) = try await publish(now) else {
                Issue.record("not accepted")
                return
            }
            #expect(try await publish(now) == .stale)

            let message = try await stage.subscriber.messages.next()
            guard case .location(let location) = try message.payload.withUnsafeBytes({ try ServerMessage($0) }) else {
                Issue.record("not a location")
                return
            }
            #expect(location.id == id)
            #expect(location.job == Stage.job)
            #expect(location.fix.at == now)
            #expect(location.fix.place.latitude == 52.5201234)
            #expect(location.receivedAt == now)
            #expect((590_000...600_000).contains(try await stage.client.timeLeft(of: stage.positionKey)))
        }
    }
}
