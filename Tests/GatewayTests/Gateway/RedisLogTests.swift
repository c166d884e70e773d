import Foundation
import Logging
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// A gateway's log messages about Redis.
@Suite struct RedisLogTests {
    @Test func `B44: log messages about Redis name its role and address`() async throws {
        let lines = RecordedLines()
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger) {
                _ in
            } _: { gateway in
                let redis = try #require(gateway.redis)
                kill(redis.processID, SIGKILL)
                let isTold = await eventually { lines.all.contains { $0.message.hasPrefix("redis unavailable") } }
                #expect(isTold)
                let place = "unix:\(redis.socketPath)"
                let told = try #require(lines.all.first { $0.message.hasPrefix("redis unavailable") })
                var metadata = told.metadata
                let cause = "\(metadata.removeValue(forKey: "reason") ?? "")"
                #expect(cause.hasPrefix("Redis at \(place) cannot be reached: Connection refused. "), "\(cause)")
                #expect(metadata == ["role": "live,ledger", "redis": "\(place) and \(place)"])
                // On a busy machine, Redis may count as unavailable before the connections have ended.
                let ended = { lines.all.filter { $0.message == "redis connection ended" } }
                let roles = { ended().map { line in line.metadata["role"].map { "\($0)" } ?? "" } }
                let haveEnded = await eventually { Set(roles()).isSuperset(of: ["live", "ledger"]) }
                #expect(haveEnded)
                // The test's own connection to Redis, which writes to the same log.
                #expect(roles().count { $0.isEmpty } <= 1)
                #expect(ended().allSatisfy { $0.metadata["redis"] == .string(place) })
                // The reason of a failed attempt must be readable; NIO's description would be a dump of its fields.
                let isTried = await eventually { lines.all.contains { $0.message == "redis connection failed" } }
                #expect(isTried)
                let failed = try #require(lines.all.first { $0.message == "redis connection failed" })
                let reason = "\(try #require(failed.metadata["reason"]))"
                #expect(reason.hasPrefix("Redis at \(place) cannot be reached: Connection refused. "), "\(reason)")
            }
        }
    }

    @Test func `the reason of an outage is logged once for each role and counted, and its end names the roles`()
        async throws
    {
        let lines = RecordedLines()
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger) { gateway in
                let place = "unix:\(try #require(gateway.redis).socketPath)"
                try await gateway.client.run("ACL", "SETUSER", "default", "resetpass", ">another")
                for type in ["normal", "pubsub"] { try await gateway.client.run("CLIENT", "KILL", "TYPE", type) }
                let isLogged = await eventually { lines.all.contains { $0.message.hasPrefix("redis unavailable") } }
                #expect(isLogged)
                let metrics = try await gateway.manage("/metrics").text
                for role in ["live", "ledger"] {
                    #expect(metrics.contains("enroute_redis_errors_total{role=\"\(role)\",kind=\"sign_in\"}"))
                    #expect(!metrics.contains("role=\"\(role)\",kind=\"sign_in\"} 0\n"))
                }
                try await gateway.client.run("ACL", "SETUSER", "default", "nopass")
                let isOver = await eventually { lines.all.contains { $0.message.hasPrefix("redis available again") } }
                #expect(isOver)

                func logged(_ message: String, _ reason: String) -> [String] {
                    lines.all.filter {
                        $0.message == message && $0.metadata["reason"].map { "\($0)".contains(reason) } == true
                    }.map { $0.metadata["role"].map { "\($0)" } ?? "" }.sorted()
                }
                #expect(logged("redis connection failed", "NOAUTH") == ["ledger", "live"])
                #expect(logged("redis connection ended", "The connection to Redis ended") == ["ledger", "live"])
                let failed = try #require(lines.all.first { $0.message == "redis connection failed" })
                #expect(failed.level == .error && failed.metadata["redis"] == .string(place))
                for (message, reason) in [("redis unavailable", "NOAUTH"), ("redis available again", "")] {
                    var told = lines.all.filter { $0.message.hasPrefix(message) }.map(\.metadata)
                    let causes = told.indices.map { "\(told[$0].removeValue(forKey: "reason") ?? "")" }
                    #expect(told == [["role": "live,ledger", "redis": "\(place) and \(place)"]])
                    let isAsExpected = causes.allSatisfy { reason.isEmpty ? $0.isEmpty : $0.contains(reason) }
                    #expect(isAsExpected, "\(causes)")
                }
            }
        }
    }
}
