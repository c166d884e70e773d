// Two gateways that share a Redis, for tests of revocation.

import Access
import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

struct RevocationScenario: Sendable {
    let gateways: [RunningGateway]
    let redis: RestartableRedis

    static let job = JobID("job-1")!

    /// Each test needs its own Redis, because it injects faults.
    static func run(_ body: @escaping @Sendable (RevocationScenario) async throws -> Void) async throws {
        try await within {
            try await RestartableRedis.running { redis in
                let address = try redis.address
                let change = { @Sendable (settings: inout GatewaySettings) in
                    settings.limits.allowManyMessages()
                    settings.limits.sessionsPerPerson = 1000
                }
                try await RunningGateway.run(isSecure: false, at: (address, address), change) { first in
                    try await RunningGateway.run(isSecure: false, at: (address, address), change) { second in
                        _ = try await first.travellingJob()
                        try await body(RevocationScenario(gateways: [first, second], redis: redis))
                    }
                }
            }
        }
    }

    var first: RunningGateway { self.gateways[0] }

    func revoke(_ subject: RevocationSubject) async throws {
        let log = RevocationLog(ledger: self.first.client, settings: self.first.settings.liveState)
        let answer = try await log.revoke(subject, by: PersonID("ops-1")!, because: "a test").get()
        #expect(answer.value == .revoked)
    }

    /// Signs in at every gateway with the same token, follows the job, calls `act`, and returns how each session ended.
    func endings(_ token: String, act: @escaping @Sendable () async throws -> Void) async throws -> [ClientError?] {
        let ready = AsyncStream.makeStream(of: Void.self)
        return try await withThrowingTaskGroup(of: ClientError?.self) { group in
            for gateway in self.gateways {
                group.addTask {
                    do {
                        try await GatewayConnection.open(gateway.url, token: token) { connection in
                            var messages = connection.messages.makeAsyncIterator()
                            try await connection.send(.subscribe(job: Self.job, since: nil))
                            _ = try await messages.subscribed()
                            ready.continuation.yield()
                            while try await messages.next() != nil {}
                        }
                        return nil
                    } catch let error as ClientError {
                        return error
                    }
                }
            }
            var count = 0
            for await _ in ready.stream {
                count += 1
                if count == self.gateways.count { break }
            }
            try await act()
            var endings: [ClientError?] = []
            for try await ending in group { endings.append(ending) }
            return endings
        }
    }

    /// Returns the response of each gateway to a sign-in with this token.
    func arrivals(_ token: String) async throws -> [(upgrade: ClientError?, message: ClientError?, rest: Int)] {
        var all: [(upgrade: ClientError?, message: ClientError?, rest: Int)] = []
        for gateway in self.gateways {
            let upgrade = try await Self.refusal { try await GatewayConnection.open(gateway.url, token: token, $0) }
            let message = try await Self.refusal { body in
                try await GatewayConnection.open(gateway.url) { connection in
                    try await connection.send(.auth(.token(token)))
                    try await body(connection)
                }
            }
            let rest = try await JobRoutesTests.ask(gateway, "GET", "/api/v1/jobs/job-1", as: token)
            all.append((upgrade, message, rest.status))
        }
        return all
    }

    /// Returns why a connection was refused; `nil` if it was accepted.
    private static func refusal(
        _ open: ((GatewayConnection) async throws -> Void) async throws -> Void
    ) async throws -> ClientError? {
        do {
            try await open { connection in
                var messages = connection.messages.makeAsyncIterator()
                _ = try await messages.first { if case .welcome = $0 { true } else { nil } }
            }
            return nil
        } catch let error as ClientError {
            return error
        }
    }
}

extension String {
    /// The `jti` of a token.
    var tokenID: String {
        get throws {
            let part = self.split(separator: ".")[1].replacing("-", with: "+").replacing("_", with: "/")
            let padded = part + String(repeating: "=", count: (4 - part.count % 4) % 4)
            let claims = try JSONSerialization.jsonObject(with: Data(base64Encoded: String(padded))!) as? [String: Any]
            return claims?["jti"] as? String ?? ""
        }
    }
}
