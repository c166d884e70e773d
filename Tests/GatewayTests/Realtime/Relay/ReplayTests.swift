import Access
import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import Testing

@testable import Gateway
@testable import Realtime

/// A gateway dies while changes continue, and its followers reconnect to another one. Each receives exactly the events it
/// missed, or a reset with the whole state.
@Suite struct ReplayTests {
    private static let order = JobID("order-1")!
    private static let service = PersonID("orders")!

    /// Changes the job `count` times, alternating between two statuses.
    private static func change(_ count: Int, _ gateway: RunningGateway) async throws -> [StatusEvent] {
        var events: [StatusEvent] = []
        for _ in 0..<count {
            let record = try #require(try await gateway.ledger.recover(self.order).get()).record
            let next: JobStatus = record.status == .allocationFailed ? .preparing : .allocationFailed
            guard
                case .published(let event) = try await gateway.ledger.publish(
                    next, of: self.order, by: self.service, source: "event"
                ).get()
            else { throw Missing() }
            events.append(event)
        }
        return events
    }

    private enum Resumption: Equatable {
        case replay([StatusEvent])
        case reset(StatusID)

        init?(_ message: ServerMessage) {
            switch message {
            case .subscribed(_, let snapshot): self = .replay(snapshot.missed)
            case .reset(_, let snapshot): self = .reset(snapshot.id)
            default: return nil
            }
        }
    }

    @Test(arguments: [1, 10, 63, 100])
    func `after a gateway dies, a follower receives exactly the events it missed, or a reset`(count: Int) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { first in
                let addresses = (first.settings.live, first.settings.ledger)
                try await RunningGateway.run(isSecure: false, at: addresses) { second in
                    _ = try await second.ledger.create(
                        NewJob(job: Self.order, kind: .delivery, customer: PersonID("anna")!, actor: Self.service),
                        epoch: "epoch-1"
                    ).get()
                    _ = try await second.ledger.publish(.accepted, of: Self.order, by: Self.service, source: "event")
                        .get()
                    let stream = try await EventStreamReader.open(first, Self.order, by: "anna", .customer)
                    _ = try await stream.first { if case .subscribed = $0 { true } else { nil } }
                    let seen = try await first.connect("anna", .customer) { anna, messages in
                        try await anna.send(.subscribe(job: Self.order, since: nil))
                        _ = try await messages.subscribed()
                        let event = try #require(try await Self.change(1, second).first)
                        let shown = try await messages.first { message in
                            if case .status(_, let event) = message { event } else { nil }
                        }
                        #expect(shown == event)
                        let streamed = try await stream.first { message in
                            if case .status(_, let event) = message { event } else { nil }
                        }
                        #expect(streamed == event)
                        first.stop()
                        // Reads until the connection is closed.
                        while let message = try? await messages.next() { _ = message }
                        return event
                    }
                    let missed = try await Self.change(count, second)
                    // The log holds 64 events and must include the last one seen.
                    let expected: Resumption = count < 64 ? .replay(missed) : .reset(missed[count - 1].id)
                    let resumed = try await second.connect("anna", .customer) { anna, messages in
                        try await anna.send(
                            .subscribe(job: Self.order, since: ResumePoint(epoch: seen.epoch, id: seen.id)))
                        return try await messages.first { Resumption($0) }
                    }
                    #expect(resumed == expected)
                    let again = try await EventStreamReader.open(
                        second, Self.order, by: "anna", .customer, lastEventID: stream.lastEventID)
                    let streamed = try await again.first { Resumption($0) }
                    #expect(streamed == expected)
                }
            }
        }
    }
}
