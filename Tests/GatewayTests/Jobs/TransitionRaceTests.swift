import Access
import EnrouteWire
import Foundation
import LiveState
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// 1,000 concurrent changes of one job, through two gateways.
@Suite(.serialized, .needsMachine(for: .faults)) struct TransitionRaceTests {
    private static let contenders = 1_000
    private static let job = JobID("job-1")!
    /// Statuses through which a delivery can pass repeatedly, and some that are not allowed in between.
    private static let wishes: [JobStatus] = [
        .accepted, .preparing, .allocationFailed, .preparing, .readyForPickup, .allocationFailed,
        .pendingVendorAcceptance,
        .workInProgress,
    ]

    private static let settings: @Sendable (inout GatewaySettings) -> Void = {
        ($0.limits.newConnectionsPerSecond, $0.limits.connectionsPerAddress) = (0, 0)
        $0.redisTiming.answer = .seconds(30)
        ($0.limits.requestHeadSeconds, $0.limits.writeStallSeconds) = (60, 60)
    }

    /// Two gateways at one Redis, with a delivery that the vendor has not accepted yet.
    private static func stage(
        _ body: @escaping @Sendable (_ ports: [Int], RunningGateway) async throws -> Void
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, Self.settings) { first in
                let addresses = (first.settings.live, first.settings.ledger)
                try await RunningGateway.run(isSecure: false, at: addresses, Self.settings) { second in
                    let new = NewJob(
                        job: Self.job, kind: .delivery, customer: PersonID("anna")!, actor: PersonID("orders")!)
                    _ = try await first.ledger.create(new, epoch: "e").get()
                    try await body([first.port, second.port], first)
                }
            }
        }
    }

    /// Opens all connections, then sends all requests, then reads all responses.
    private static func ask(_ ports: [Int], _ requests: [String]) async throws -> [RESTResponse] {
        try await blocking {
            let sockets = try requests.indices.map { try RawSocket(port: ports[$0 % ports.count]) }
            for (socket, request) in zip(sockets, requests) { try socket.send(request) }
            return try sockets.map { RESTResponse(try $0.readToEnd()) }
        }
    }

    private static func request(_ status: JobStatus, as token: String, _ headers: [String] = []) -> String {
        RESTResponse.request(
            "POST", "/api/v1/jobs/\(Self.job)/status", as: token, #"{"status":"\#(status.rawValue)"}"#, headers: headers
        )
    }

    /// A step of the job, as returned to the request that won.
    private struct Step: Hashable {
        let id: String
        let previous: String
        let status: JobStatus

        init?(_ answer: RESTResponse) {
            guard answer.status == 200, let id: String = answer.member("id"),
                let previous: String = answer.member("prev"),
                let name: String = answer.member("status"), let status = JobStatus(rawValue: name)
            else { return nil }
            (self.id, self.previous, self.status) = (id, previous, status)
        }
    }

    @Test
    func `1,000 conflicting changes through two gateways make one legal history, and losers learn the current status`()
        async throws
    {
        try await Self.stage { ports, gateway in
            let token = try await gateway.token("orders", .service)
            let first = try #require(try await gateway.ledger.recover(Self.job).get()).record
            var random = SeededGenerator(seed: 27)
            let requests = (0..<Self.contenders).map { _ in
                Self.request(Self.wishes.randomElement(using: &random)!, as: token)
            }
            let answers = try await Self.ask(ports, requests)
            let steps = answers.compactMap(Step.init)
            let losers = answers.filter { $0.status != 200 }
            #expect(steps.count + losers.count == Self.contenders && steps.count > 20 && losers.count > 20)

            // One winner for each step: no two have the same previous event, and together they form one chain from the first.
            let next = Dictionary(grouping: steps, by: \.previous)
            #expect(next.allSatisfy { $0.value.count == 1 })
            var (at, status, history) = (first.head.description, first.status, [Step]())
            while let step = next[at]?.first {
                #expect(step.status.predecessors.contains(status), "\(status) to \(step.status)")
                (at, status) = (step.id, step.status)
                history.append(step)
            }
            #expect(history.count == steps.count)
            let log = try await gateway.ledger.log(of: Self.job).get()
            #expect(log.map(\.id.description).suffix(min(64, history.count)) == history.map(\.id).suffix(64))

            let passed = Set(history.map(\.status.rawValue) + [first.status.rawValue])
            for loser in losers {
                #expect(loser.status == 409 && loser.member("code") == "illegal_transition", "\(loser)")
                #expect(loser.member("jobStatus").map { passed.contains($0) } == true, "\(loser)")
            }
        }
    }

    @Test
    func `of 1,000 conditional changes exactly one succeeds, and the others learn which event overtook them`()
        async throws
    {
        try await Self.stage { ports, gateway in
            let token = try await gateway.token("orders", .service)
            let head = try #require(try await gateway.ledger.head(Self.job).get()).id
            let requests = (0..<Self.contenders).map { number in
                Self.request(number % 3 == 0 ? .cancelled : .accepted, as: token, ["If-Match: \"e.\(head)\""])
            }
            let answers = try await Self.ask(ports, requests)
            let steps = answers.compactMap(Step.init)
            #expect(steps.count == 1 && steps.first?.previous == head.description)
            let winner = try #require(steps.first)
            for loser in answers where loser.status != 200 {
                #expect(loser.status == 412 && loser.member("code") == "precondition_failed", "\(loser)")
                #expect(loser.member("jobStatus") == winner.status.rawValue && loser.member("jobStatusId") == winner.id)
            }
            let log = try await gateway.ledger.log(of: Self.job).get()
            #expect(log.map(\.id.description) == [head.description, winner.id])
        }
    }
}
