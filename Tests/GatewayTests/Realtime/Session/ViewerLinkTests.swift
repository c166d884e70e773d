import Access
import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import NIOCore
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Tracking links at gateways: the viewer limit, the expiry, and who can create one.
@Suite struct ViewerLinkTests {
    private static let service = PersonID("service")!

    private static func links(_ gateway: RunningGateway) -> TrackingLinks {
        TrackingLinks(ledger: gateway.client, settings: gateway.settings.liveState)
    }

    /// Two gateways on one Redis.
    private static func withTwoGateways(
        _ body: @escaping @Sendable (RunningGateway, RunningGateway) async throws -> Void
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { first in
                let addresses = (first.settings.live, first.settings.ledger)
                try await RunningGateway.run(isSecure: false, at: addresses) { second in try await body(first, second) }
            }
        }
    }

    /// Opens one session with the link on each of the given gateways while `body` runs.
    private static func withViewers(
        of secret: String, at gateways: ArraySlice<RunningGateway>, _ body: () async throws -> Void
    ) async throws {
        guard let gateway = gateways.first else { return try await body() }
        try await gateway.unsigned { connection, messages in
            try await connection.send(.auth(.link(secret)))
            _ = try await messages.welcome()
            try await Self.withViewers(of: secret, at: gateways.dropFirst(), body)
        }
    }

    /// How the gateway closes a session that uses this link.
    private static func refusal(of secret: String, at gateway: RunningGateway) async throws -> ClientError {
        try await gateway.unsigned { connection, messages in
            try await connection.send(.auth(.link(secret)))
            do {
                while let message = try await messages.next() {
                    if case .welcome = message { throw Missing() }
                }
            } catch let error as ClientError {
                return error
            }
            throw Missing()
        }
    }

    private static let isInvalid = ClientError.closed(code: 4500, reason: "link invalid or expired")
    private static let isFull = ClientError.closed(code: 4009, reason: "viewer limit of this link reached")

    @Test func `a link's viewer limit applies across gateways`() async throws {
        try await Self.withTwoGateways { first, second in
            let job = try await first.travellingJob()
            let links = Self.links(first)
            let link = try await links.issueDurably(for: job, of: PersonID("anna")!, viewers: 3, by: Self.service).get()
                .value
            try await Self.withViewers(of: link.secret, at: [first, second, first]) {
                for gateway in [first, second] {
                    let refusal = try await Self.refusal(of: link.secret, at: gateway)
                    #expect(refusal == Self.isFull)
                    let metrics = try await gateway.manage("/metrics").text
                    #expect(metrics.contains(#"enroute_sessions_refused_total{limit="viewers_per_link"} 1"#))
                }
                // Another link has its own viewer leases.
                let other = try await links.issue(for: job, of: PersonID("anna")!, viewers: 1, by: Self.service).get()
                try await Self.withViewers(of: other, at: [second]) {}
            }
            let isFree = try await eventually {
                try await first.client.run("ZCARD", first.settings.liveState.keyspace.viewers(ofLink: link.id))
                    == .integer(0)
            }
            #expect(isFree)
            try await Self.withViewers(of: link.secret, at: [second, second, second]) {}
        }
    }

    @Test func `an expired link ends its viewers' sessions and refuses new ones`() async throws {
        try await Self.withTwoGateways { first, second in
            let job = try await first.travellingJob()
            let secret = try await Self.links(first).issue(
                for: job, of: PersonID("anna")!, lifetime: .seconds(4), by: Self.service
            ).get()
            try await first.unsigned { connection, messages in
                try await connection.send(.auth(.link(secret)))
                _ = try await messages.welcome()
                await #expect(throws: Self.isInvalid) { while try await messages.next() != nil {} }
            }
            let later = try await Self.refusal(of: secret, at: second)
            #expect(later == Self.isInvalid)
        }
    }

    @Test func `I1: a link made by the previous customer is refused after the job is reassigned`() async throws {
        try await Self.withTwoGateways { first, second in
            let job = try await first.travellingJob()
            let anna = PersonID("anna")!
            let before = try await Self.links(first).issue(for: job, of: anna, by: anna).get()
            try await first.unsigned { connection, messages in
                try await connection.send(.auth(.link(before)))
                _ = try await messages.welcome()
                try await connection.send(.subscribe(job: job, since: nil))
                _ = try await messages.subscribed()
                let token = try await first.token("orders", .service)
                let answer = try await JobRoutesTests.ask(
                    first, "PUT", "/api/v1/jobs/\(job)/assignment", as: token, #"{"customer":"bert"}"#)
                #expect(answer.status == 200)
                let reason = try await messages.first { if case .ended(job, let reason) = $0 { reason } else { nil } }
                #expect(reason == .revoked)
                await #expect(throws: Self.isInvalid) { while try await messages.next() != nil {} }
            }
            for gateway in [first, second] {
                let refusal = try await Self.refusal(of: before, at: gateway)
                #expect(refusal == Self.isInvalid)
            }
            let now = try await Self.links(first).issue(for: job, of: PersonID("bert")!, by: Self.service).get()
            try await Self.withViewers(of: now, at: [second]) {}
        }
    }

    @Test func `a link ends with its job, and is then refused like an unknown link`() async throws {
        try await Self.withTwoGateways { first, second in
            let job = try await first.travellingJob()
            let link = try await Self.links(first).issueDurably(for: job, of: PersonID("anna")!, by: Self.service).get()
                .value
            for status in [JobStatus.workInProgress, .completed] {
                // The link ends with the job, not before.
                try await Self.withViewers(of: link.secret, at: [first]) {}
                _ = try await first.ledger.publish(status, of: job, by: Self.service, source: "event").get()
            }
            for secret in [link.secret, String(repeating: "0", count: 32)] {
                let refusal = try await Self.refusal(of: secret, at: second)
                #expect(refusal == Self.isInvalid)
            }
            // The lease that the session acquired for a moment is available again.
            let isFree = try await eventually {
                try await first.client.run("EXISTS", first.settings.liveState.keyspace.viewers(ofLink: link.id))
                    == .integer(0)
            }
            #expect(isFree)
        }
    }

    @Test func `a link viewer that sends too much does not use up the message rate of the job's customer`() async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                ($0.limits.messagesPerPersonPerSecond, $0.limits.messagesPerPersonBurst) = (1, 5)
            } _: { gateway in
                let job = try await gateway.travellingJob()
                let secret = try await Self.links(gateway).issue(for: job, of: PersonID("anna")!, by: Self.service)
                    .get()
                try await gateway.unsigned { viewer, answers in
                    try await viewer.send(.auth(.link(secret)))
                    _ = try await answers.welcome()
                    for _ in 0..<10 { try await viewer.send(.ping) }
                    #expect(try await answers.refusal().code == .rateLimited)
                    try await gateway.connect("anna", .customer) { connection, messages in
                        try await connection.send(.subscribe(job: job, since: nil))
                        #expect(try await messages.subscribed().status == .onTheWay)
                    }
                }
            }
        }
    }

    @Test func `a viewer lease is renewed, and the next renewal closes the session of a revoked link`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                $0.viewerLeaseRenewal = .milliseconds(100)
            } _: { gateway in
                let job = try await gateway.travellingJob()
                let link = try await Self.links(gateway).issueDurably(for: job, of: PersonID("anna")!, by: Self.service)
                    .get().value
                let places = gateway.settings.liveState.keyspace.viewers(ofLink: link.id)
                try await gateway.unsigned { connection, messages in
                    try await connection.send(.auth(.link(link.secret)))
                    let session = try await messages.welcome().session
                    func until() async throws -> Int64 {
                        try await gateway.client.run("ZSCORE", places, session).text.flatMap { Int64($0) } ?? 0
                    }
                    let first = try await until()
                    #expect(first > 0)
                    let isRenewed = try await eventually { try await until() > first }
                    #expect(isRenewed)
                    #expect(try await Self.links(gateway).revoke(link.id).get())
                    await #expect(throws: Self.isInvalid) { while try await messages.next() != nil {} }
                }
            }
        }
    }

    @Test(.needsMachine(for: .faults))
    func `a link outlives the live instance`() async throws {
        try await within {
            try await RestartableRedis.running { live in
                let liveAddress = try live.address
                try await withServer { ledger in
                    try await RunningGateway.run(isSecure: false, at: (liveAddress, ledger.address)) { gateway in
                        let job = try await gateway.travellingJob()
                        let secret = try await Self.links(gateway).issue(
                            for: job, of: PersonID("anna")!, by: Self.service
                        ).get()
                        try await live.restart(.empty)
                        try await gateway.unsigned { connection, messages in
                            try await connection.send(.auth(.link(secret)))
                            _ = try await messages.welcome()
                            try await becomes(
                                "the gateway is connected to the live instance again", every: .milliseconds(200)
                            ) {
                                try await connection.send(.subscribe(job: job, since: nil))
                                do {
                                    return try await messages.subscribed().status == .onTheWay
                                } catch ErrorCode.unavailable {
                                    return false
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    @Test(.needsMachine(for: .faults))
    func `the only viewer of a link can sign in soon after the ledger hung during the first attempt`() async throws {
        try await within {
            try await RestartableRedis.running { ledger in
                let address = try ledger.address
                try await RunningGateway.run(isSecure: false, at: (address, address)) {
                    $0.redisTiming.answer = .seconds(1)
                } _: { gateway in
                    let job = try await gateway.travellingJob()
                    func link() async throws -> String {
                        try await Self.links(gateway).issue(
                            for: job, of: PersonID("anna")!, viewers: 1, by: Self.service
                        ).get()
                    }
                    // Redis knows the script after this.
                    try await Self.withViewers(of: link(), at: [gateway]) {}
                    let secret = try await link()
                    try await ledger.freeze()
                    let refusal = try await Self.refusal(of: secret, at: gateway)
                    #expect(refusal == .closed(code: 4003, reason: "service unavailable; retry later"))
                    try await ledger.thaw()
                    try await becomes("the viewer is signed in", within: TrackingLinks.leaseDuration / 3) {
                        try await gateway.unsigned { connection, messages in
                            try await connection.send(.auth(.link(secret)))
                            return (try? await messages.welcome()) != nil
                        }
                    }
                }
            }
        }
    }

    @Test func `the secret of a link is shown once and never stored in Redis`() async throws {
        // Uncompressed values, because compression could hide the secret.
        try await withRedis(options: ["--rdbcompression", "no"]) { client, server in
            let address = server.address
            try await within {
                try await RunningGateway.run(isSecure: false, at: (address, address)) { gateway in
                    let job = try await gateway.travellingJob()
                    let anna = try await gateway.token("anna", .customer)
                    let made = try await JobRoutesTests.ask(gateway, "POST", "/api/v1/jobs/\(job)/links", as: anna)
                    #expect(made.status == 201)
                    let secret = String(try #require(made.text.firstMatch(of: /"link":"([0-9a-f]{32})"/)).1)
                    let id = String(try #require(made.text.firstMatch(of: /"id":"([0-9a-f]{32})"/)).1)
                    #expect(made.text.contains(#""url":"/track/job-1#\#(secret)","viewers":5}"#))
                    #expect(made.text.contains(#"{"expiresAt":1"#))
                    try await gateway.unsigned { connection, messages in
                        try await connection.send(.auth(.link(secret)))
                        _ = try await messages.welcome()
                        try await connection.send(.subscribe(job: job, since: nil))
                        _ = try await messages.subscribed()
                        let isWritten = try await eventually {
                            try await gateway.client.run("XLEN", "access") == .integer(1)
                        }
                        #expect(isWritten)
                        let all = try await gateway.client.dump().map { key, value in
                            key + String(decoding: value.content, as: UTF8.self)
                        }.joined()
                        #expect(all.contains(id), "the stored values are readable")
                        #expect(!all.contains(secret))
                    }
                }
            }
        }
    }

    @Test
    func `services, operations staff and the job's customer can create a limited number of links until the job ends`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                func ask(
                    _ person: String, _ role: Role, _ body: String? = nil, job: JobID = job
                ) async throws -> JobRoutesTests.Answer {
                    try await JobRoutesTests.ask(
                        gateway, "POST", "/api/v1/jobs/\(job)/links", as: gateway.token(person, role), body)
                }
                let made = try await ask("orders", .service, #"{"viewers":100,"expiresInSeconds":60}"#)
                #expect(made.status == 201 && made.text.contains(#""viewers":100"#))
                let expires = try #require(made.text.firstMatch(of: /"expiresAt":(\d{13})/).flatMap { Int64($0.1) })
                #expect((30...61).contains(expires / 1000 - Int64(Date.now.timeIntervalSince1970)))
                for (body, word) in [
                    (#"{"viewers":0}"#, "viewers must be 1 to 100"), (#"{"viewers":101}"#, "viewers must be"),
                    (#"{"expiresInSeconds":0}"#, "expiresInSeconds must be 1 to 14400 s"),
                    (#"{"expiresInSeconds":14401}"#, "expiresInSeconds"),
                    (#"{"viewers":"a"}"#, "viewers has the wrong type"), ("[]", "JSON object"),
                ] {
                    let answer = try await ask("anna", .customer, body)
                    #expect(answer.status == 422 && answer.text.contains(word), "\(body): \(answer)")
                }
                #expect(try await ask("olga", .ops).status == 201)
                #expect(try await ask("rider-1", .rider).status == 403)
                let foreign = try await ask("bert", .customer)
                let absent = try await ask("bert", .customer, job: JobID("absent")!)
                #expect(foreign.status == 404 && foreign.text.withoutTrace == absent.text.withoutTrace)
                _ = try await gateway.ledger.publish(.cancelled, of: job, by: Self.service, source: "event").get()
                let late = try await ask("anna", .customer)
                #expect(late.status == 409 && late.text.contains(#""jobStatus":"cancelled""#))
            }
        }
    }
}
