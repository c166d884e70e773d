import EnrouteClient
import EnrouteWire
import Foundation
import Logging
import Routing
import TestSupport
import Testing

@testable import ETA
@testable import Gateway
@testable import Realtime

/// A fault outside the gateway, such as a full disk or a provider with invalid responses, causes one error message with
/// advice, and is counted in a metric.
@Suite struct VisibleFaultTests {
    @Test func `a ledger that cannot write to disk is logged once, counted and answered with 503`() async throws {
        let lines = RecordedLines()
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger) { gateway in
                let job = try await gateway.travellingJob()
                // Redis renames its finished file to this name. A folder with the same name prevents that.
                let folder = (try #require(gateway.redis).socketPath as NSString).deletingLastPathComponent
                try FileManager.default.createDirectory(
                    atPath: "\(folder)/dump.rdb", withIntermediateDirectories: false)
                try await gateway.client.run("CONFIG", "SET", "save", "3600 1")
                try await gateway.client.run("BGSAVE")
                try await becomes("Redis has found its disk of no use", every: .milliseconds(10)) {
                    try await gateway.client.run("INFO", "persistence").text?
                        .contains("rdb_last_bgsave_status:err") == true
                }
                for _ in 0..<3 {
                    let answer = try await gateway.rest(
                        "POST", "/api/v1/jobs/\(job)/status", by: "orders", .service,
                        #"{"status":"work_in_progress"}"#)
                    #expect(answer.status == 503 && answer.member("retryable") == true)
                }
                let metrics = try await gateway.manage("/metrics").text
                let count = try #require(
                    metrics.firstMatch(of: /enroute_redis_errors_total\{role="ledger",kind="misconf"\} (\d+)/))
                #expect((Int(count.1) ?? 0) >= 3)
            }
        }
        let logged = lines.all.filter { $0.metadata["kind"] == "misconf" && $0.metadata["role"] == "ledger" }
        #expect(logged.count == 1 && logged.first?.level == .error, "\(logged)")
    }

    @Test(arguments: [
        ProviderServer.Answer.json("<html>"), .json("{}", status: 403),
        .json("", status: 301, headers: ["location": "/elsewhere"]),
    ])
    func `an unusable ETA provider is logged once as an error, and counted`(
        answer: ProviderServer.Answer
    ) async throws {
        let lines = RecordedLines()
        try await ProviderServer.running({ _ in answer }) { server in
            let service = ArrivalService(try OSRM(url: server.url), dailyBudget: nil)
            try await within {
                try await RunningGateway.run(
                    isSecure: false, logger: lines.logger, ArrivalServiceTests.settings([service])
                ) { gateway in
                    let job = try await ArrivalServiceTests.visit(gateway)
                    try await ArrivalTimesTests.trip(gateway, job) { _, messages, rider in
                        for number in 0..<3 {
                            try await ArrivalServiceTests.move(rider, job, number)
                            _ = try await messages.knownETA()
                        }
                    }
                    let metrics = try await gateway.manage("/metrics").text
                    #expect(metrics.contains(/enroute_eta_requests_total\{provider="osrm",outcome="[a-z_]+"\} [1-9]/))
                }
            }
            #expect(!server.questions.isEmpty)
        }
        let logged = lines.all.filter { $0.message == "ETA provider unusable; check its settings" }
        #expect(logged.count == 1 && logged.first?.level == .error, "\(logged)")
        #expect(logged.first?.metadata["provider"] == "osrm")
    }

    @Test func `an unreachable ETA provider is logged once as a warning`() async throws {
        let lines = RecordedLines()
        try await ProviderServer.running({ _ in .hangUp }) { server in
            let service = ArrivalService(try OSRM(url: server.url), dailyBudget: nil)
            try await within {
                try await RunningGateway.run(
                    isSecure: false, logger: lines.logger, ArrivalServiceTests.settings([service])
                ) { gateway in
                    let job = try await ArrivalServiceTests.visit(gateway)
                    try await ArrivalTimesTests.trip(gateway, job) { _, messages, rider in
                        for number in 0..<3 {
                            try await ArrivalServiceTests.move(rider, job, number)
                            _ = try await messages.knownETA()
                        }
                    }
                }
            }
        }
        let logged = lines.all.filter { $0.message == "ETA provider unavailable" }
        #expect(logged.count == 1 && logged.first?.level == .warning, "\(logged)")
    }
}
