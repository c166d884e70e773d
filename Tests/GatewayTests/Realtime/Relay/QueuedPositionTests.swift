import Access
import EnrouteWire
import Foundation
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Row I3 of the threat table, for a position queued for a client that does not read: it is not sent after the client loses
/// access.
@Suite(.serialized, .needsMachine(for: .faults)) struct QueuedPositionTests {
    /// Approximately what the client's kernel receives, far less than what is sent.
    private static let kernelBytes: Int32 = 2048
    /// Positions published between two checks whether one is queued.
    private static let positionsAtOnce: Int64 = 200

    /// Why the follower may no longer see positions.
    enum Change: CaseIterable, Sendable {
        case travelModeOff, ended, otherCustomer

        /// Whether the metrics show that the gateway has applied the change.
        fileprivate func isApplied(_ metrics: RelayCounts, since before: RelayCounts) -> Bool {
            switch self {
            case .travelModeOff, .ended: metrics.relayed > before.relayed
            case .otherCustomer: metrics.repairs > before.repairs
            }
        }

        fileprivate var lastWord: String {
            switch self {
            case .travelModeOff: #""state":"paused""#
            case .ended, .otherCustomer: #""type":"ended""#
            }
        }
    }

    fileprivate struct RelayCounts {
        let relayed, queued, repairs, queuedBytes: Int

        init(_ metrics: String) {
            func value(_ name: String) -> Int {
                let line = metrics.split(separator: "\n").first { $0.hasPrefix(name + " ") }
                return line.flatMap { Double($0.dropFirst(name.count + 1)) }.map { Int($0) } ?? 0
            }
            self.relayed = value("enroute_messages_relayed_total")
            self.queuedBytes = value("enroute_outbox_queued_bytes")
            self.queued = value("enroute_messages_queued_total")
            self.repairs = value(#"enroute_resyncs_total{kind="job",reason="repair"}"#)
        }
    }

    @Test(arguments: Change.allCases)
    func `I3: a queued position is never sent after the follower loses access`(change: Change) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                $0.limits.writeStallSeconds = 100
            } _: { gateway in
                try await Self.run(change, gateway)
            }
        }
    }

    private static func run(_ change: Change, _ gateway: RunningGateway) async throws {
        let (job, rider) = (try await gateway.travellingJob(), PersonID("rider-1")!)
        guard case .on(let deadline, let fence) = try await gateway.ledger.startTravel(for: job, by: rider).get() else {
            throw Missing()
        }
        _ = try await gateway.feed.open(job, for: rider, until: deadline, fence: fence).get()
        let token = try await gateway.token("anna", .customer)
        let socket = Inboxed<RawSocket>()
        try await blocking { [port = gateway.port] in
            let follower = try RawSocket.session(port: port, token: token, kernelBytes: Self.kernelBytes)
            try follower.send(RawSocket.frame(0x81, Array(#"{"type":"subscribe","job":"\#(job)"}"#.utf8)))
            _ = try follower.readUntil(Array(#""type":"subscribed""#.utf8))
            socket.value = follower
        }
        let newest = try await Self.publishUntilOneIsQueued(gateway, job, rider)

        let before = RelayCounts(try await gateway.manage("/metrics").text)
        #expect(before.queuedBytes > 0)
        switch change {
        case .travelModeOff: _ = try await gateway.feed.close(job, because: .deactivated).get()
        case .ended:
            _ = try await gateway.ledger.publish(.cancelled, of: job, by: PersonID("orders")!, source: "event").get()
        case .otherCustomer:
            let answer = try await gateway.ledger.assign(job, to: rider, of: PersonID("bert")!, expected: fence).get()
            #expect(answer.value == .assigned(fence: fence + 1))
        }
        #expect(
            try await gateway.eventually("/metrics") { change.isApplied(RelayCounts($0.text), since: before) })
        let (rest, wasReset) = try await blocking {
            var bytes: [UInt8] = []
            do {
                while !String(decoding: bytes, as: UTF8.self).contains(change.lastWord) {
                    let more = try #require(try socket.value?.read())
                    try #require(!more.isEmpty, "the connection ended before \(change.lastWord)")
                    bytes += more
                }
            } catch let failure as RawSocket.Failed where failure.code == ECONNRESET {
                return (String(decoding: bytes, as: UTF8.self), true)
            }
            return (String(decoding: bytes, as: UTF8.self), false)
        }
        // A client that lost access to the job has 300 ms to read what the kernel holds, and is then reset (B46). A reset
        // discards data in flight. Without a reset, all of it arrives, followed by the last message.
        #expect(!wasReset || change == .otherCustomer)
        #expect(wasReset || rest.contains(#""type":"location""#), "data in flight arrives")
        #expect(!rest.contains(#""id":"\#(newest)""#), "the queued position does not arrive")
        try await gateway.waitForMetric("enroute_outbox_queued_bytes 0.0")
    }

    /// - Returns: the id of the newest position, which is queued at the gateway.
    private static func publishUntilOneIsQueued(
        _ gateway: RunningGateway, _ job: JobID, _ rider: PersonID
    ) async throws -> UInt64 {
        let publisher = LocationPublisher(live: gateway.client, settings: gateway.settings.liveState)
        // This many fixes are captured during the test, and the newest is still not in the future.
        var at = Int64(Date.now.timeIntervalSince1970 * 1000)
        var (published, newest) = (0, UInt64(0))
        while true {
            for _ in 0..<Self.positionsAtOnce {
                at += 1
                let fix = Fix(at: at, place: Coordinate(latitude: 41.9, longitude: 12.5)!)
                guard
                    case .accepted(let id, _) = try await publisher.publish(fix, for: job, by: rider, receivedAt: at)
                        .get()
                else { throw Missing() }
                (published, newest) = (published + 1, id)
            }
            #expect(try await gateway.eventually("/metrics") { RelayCounts($0.text).relayed >= published })
            if RelayCounts(try await gateway.manage("/metrics").text).queued > 0 { return newest }
        }
    }
}
