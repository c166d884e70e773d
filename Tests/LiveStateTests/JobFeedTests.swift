import EnrouteWire
import NIOCore
import TestSupport
import Testing

@testable import LiveState

@Suite struct JobFeedTests {
    @Test func `a feed is read correctly while closed, open, with a position and closed again`() async throws {
        try await Stage.set { stage in
            let feed = stage.feed
            #expect(try await feed.read(Stage.job).get() == JobFeed.State())
            let deadline = try await stage.now() + 3_600_000
            #expect(try await feed.open(Stage.job, for: Stage.rider, until: deadline, fence: 3).get() == .open)
            #expect(try await feed.open(Stage.job, for: Stage.rider, until: deadline, fence: 3).get() == .open)
            #expect(try await feed.read(Stage.job).get() == JobFeed.State(rider: Stage.rider, deadline: deadline))
            let place =
                #"{"type":"location","id":"1795000000000000","at":1795000000000,"job":"job-7","received":1,"lat":1,"lon":2}"#
            try await stage.client.run("SET", stage.positionKey, place)
            #expect(
                try await feed.read(Stage.job).get()
                    == JobFeed.State(rider: Stage.rider, deadline: deadline, position: Array(place.utf8)))
            #expect(try await feed.close(Stage.job, of: Stage.customer, because: .arrived).get() == .otherRider)
            #expect(try await feed.close(Stage.job, of: Stage.rider, because: .arrived).get() == .closed(erased: 2))
            #expect(try await feed.close(Stage.job, because: .arrived).get() == .closed(erased: 0))
            let closed = try await feed.read(Stage.job).get()
            #expect(closed.isClosed && !closed.isOpen && closed.position == nil)
            let told = try await stage.subscriber.messages.next(2).map { message in
                try message.payload.withUnsafeBytes { try ServerMessage($0) }
            }
            #expect(told == [.tracking(job: Stage.job, .waiting, nil), .tracking(job: Stage.job, .arrived, .arrived)])
            #expect(try await stage.hasNoMessages())
        }
    }

    @Test func `a position is not shown after its rider stopped sharing`() async throws {
        try await Stage.set { stage in
            try await stage.client.run("SET", stage.positionKey, "here")
            #expect(try await stage.feed.read(Stage.job).get() == JobFeed.State())
        }
    }

    @Test(arguments: [
        "", "here", "1 -9223372036854775808 rider-1", "1 9223372036854775807 rider-1", "x 1 rider-1",
    ])
    func `B27: a malformed entry is closed like a missing one, and opening replaces it`(known: String) async throws {
        try await Stage.set { stage in
            let (feed, deadline) = (stage.feed, try await stage.now() + 3_600_000)
            try await stage.client.run("SET", stage.travelKey, known)
            try await stage.client.run("SET", stage.positionKey, "here")
            #expect(try await feed.read(Stage.job).get() == JobFeed.State())
            #expect(try await feed.close(Stage.job, because: .arrived).get() == .closed(erased: 1))
            #expect(try await feed.read(Stage.job).get().isClosed)
            try await stage.client.run("SET", stage.travelKey, known)
            #expect(try await feed.open(Stage.job, for: Stage.rider, until: deadline, fence: 3).get() == .open)
            #expect(try await feed.read(Stage.job).get() == JobFeed.State(rider: Stage.rider, deadline: deadline))
        }
    }

    @Test func `a feed does not open after the deadline`() async throws {
        try await Stage.set { stage in
            let opening = try await stage.feed.open(
                Stage.job, for: Stage.rider, until: 1_700_000_000_000, fence: 1
            ).get()
            #expect(opening == .deadlinePassed)
        }
    }

    @Test func `the description of a state does not reveal a location`() {
        let state = JobFeed.State(rider: Stage.rider, position: Array("52.52".utf8))
        for text in ["\(state)", String(reflecting: state), "\([state])"] {
            #expect(!text.contains("53, 50") && !text.contains("52.52"), "\(text)")
        }
    }
}
