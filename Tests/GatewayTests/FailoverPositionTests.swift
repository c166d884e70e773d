import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import Redis
import TestSupport
import Testing

/// Positions that one master of the live instance took and the next one lacks.
@Suite(.serialized) struct FailoverPositionTests {
    /// A rider may report its next position seconds later: until then followers of a new master would see an old one.
    @Test func `B30: a rider's newest position goes out again when another master answers, without another report`()
        async throws
    {
        try await within {
            try await RestartableRedis.running { live in
                try await RestartableRedis.running { ledger in
                    try await RunningGateway.run(isSecure: false, at: (live.address, ledger.address)) { gateway in
                        let job = try await gateway.travellingJob()
                        try await gateway.connect("rider-1", .rider) { connection, messages in
                            try await connection.send(.travel(job: job, active: true))
                            _ = try await messages.travelAnswer()
                            try await connection.report(job, step: 1)
                            let _: Bool = try await messages.first { message in
                                if case .ok(re: "location", _, _, _, _) = message { true } else { nil }
                            }
                            let key = Keyspace().position(of: job)
                            let before = try #require(try await live.run("GET", key).text)
                            // The new master has heard of nothing.
                            try await live.restart(.empty)
                            try await becomes("the position is there again", within: .seconds(30)) {
                                try await live.run("GET", key).text != nil
                            }
                            let after = try #require(try await live.run("GET", key).text)
                            // The same reading, under another id.
                            let reading = { (text: String) -> [Substring] in
                                Array(text.split(separator: ",").dropFirst(2))
                            }
                            #expect(reading(after) == reading(before))
                        }
                    }
                }
            }
        }
    }
}
