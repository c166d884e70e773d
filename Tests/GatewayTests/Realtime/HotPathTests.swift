import EnrouteClient
import EnrouteWire
import HotPath
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Follows one location along the documented hot path, so that the documentation cannot become wrong unnoticed.
@Suite struct HotPathTests {
    @Test(arguments: [true, false])
    func `one location passes every station of the hot path in order, from the rider's socket to the follower's`(
        isSecure: Bool
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: isSecure) { gateway in
                let job = try await gateway.travellingJob()
                try await gateway.connect("anna", .customer) { customer, seen in
                    try await customer.send(.subscribe(job: job, since: nil))
                    _ = try await seen.subscribed()
                    try await gateway.connect("rider-1", .rider) { rider, answers in
                        try await rider.send(.travel(job: job, active: true))
                        _ = try await answers.travelAnswer()
                        _ = try await seen.first { if case .tracking = $0 { true } else { nil } }

                        let recording = HotPathRecording()
                        defer { recording.end() }
                        for loop in gateway.loops { try await loop.submit { recording.recordThisThread() }.get() }
                        try await rider.report(job, step: 1)
                        let location = try await seen.location()
                        try Self.compare(recording.stations)
                        // The script runs in Redis. Its traces are the position's id and the stored message, which is the one
                        // the follower received.
                        let settings = gateway.settings.liveState
                        let stored = try await gateway.client.send([
                            "GET", .text(settings.keyspace.position(of: job)),
                        ]).get()
                        #expect(stored.text?.contains(#""id":"\#(location.id)""#) == true)
                    }
                }
            }
        }
    }

    private static func compare(_ passed: [HotPath]) throws {
        // The rider's answer is also written to a socket, before or after the follower's frame.
        let stations = passed.filter { $0 != .secureSocketHandler }
        // Other messages, for example an arrival time, may come from Redis in the meantime. They are not positions.
        let ofLocation = zip(stations, stations.dropFirst() + [.publishLocation]).filter { station, next in
            station != .redisChannelHandler || next == .loopRelay
        }.map(\.0)
        #expect(ofLocation == HotPath.allCases.filter { $0 != .publishLocation && $0 != .secureSocketHandler })
        let followed = try #require(passed.firstIndex(of: .followedJob))
        #expect(passed[followed...].contains(.secureSocketHandler))
    }
}
