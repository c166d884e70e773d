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

/// Revoked access ends on every gateway, and cannot be regained.
@Suite(.needsMachine(for: .faults)) struct RevocationTests {
    private static let revoked = ClientError.closed(code: CloseCode.forbidden.rawValue, reason: "access revoked")
    /// Seconds since the epoch.
    private static var now: Int64 { Int64(Date.now.timeIntervalSince1970) }

    @Test func `revoking a user closes its sessions on all gateways, and older tokens are refused`() async throws {
        try await RevocationScenario.run { stage in
            let token = try await stage.first.token("anna", .customer)
            let endings = try await stage.endings(token) { try await stage.revoke(.user(PersonID("anna")!)) }
            #expect(endings == [Self.revoked, Self.revoked])
            for arrival in try await stage.arrivals(token) {
                #expect(arrival.upgrade == .upgradeRefused(status: 401))
                #expect(arrival.message == Self.revoked)
                #expect(arrival.rest == 401)
            }
            // A token is newer if its `iat` is more than 30 s later. A clock that is 30 s fast issues one in the next second.
            let issued = Self.now + TokenVerifier.skew + 1
            try await becomes("the gateways accept the token") { Self.now + TokenVerifier.skew >= issued }
            let newer = try await stage.first.mint.token(for: PersonID("anna")!, role: .customer, now: issued)
            for arrival in try await stage.arrivals(newer) {
                #expect(arrival.upgrade == nil && arrival.message == nil && arrival.rest == 200)
            }
        }
    }

    @Test func `revoking a user revokes a token of an issuer whose clock is fast`() async throws {
        try await RevocationScenario.run { stage in
            let token = try await stage.first.mint.token(
                for: PersonID("anna")!, role: .customer, now: Self.now + TokenVerifier.skew - 5)
            let endings = try await stage.endings(token) { try await stage.revoke(.user(PersonID("anna")!)) }
            #expect(endings == [Self.revoked, Self.revoked])
            for arrival in try await stage.arrivals(token) {
                #expect(arrival.upgrade == .upgradeRefused(status: 401) && arrival.rest == 401)
            }
        }
    }

    @Test func `revoking a token over REST leaves the person's other tokens valid`() async throws {
        try await RevocationScenario.run { stage in
            let (token, other) = (
                try await stage.first.token("anna", .customer), try await stage.first.token("anna", .customer)
            )
            let ops = try await stage.first.token("ops-1", .ops)
            let path = "/api/v1/grants/tokens/\(try token.tokenID)"
            let endings = try await stage.endings(token) {
                for _ in 0..<2 {
                    let answer = try await JobRoutesTests.ask(stage.first, "DELETE", path, as: ops)
                    #expect(answer.status == 204)
                }
            }
            #expect(endings == [Self.revoked, Self.revoked])
            for arrival in try await stage.arrivals(token) {
                #expect(arrival.upgrade == .upgradeRefused(status: 401) && arrival.rest == 401)
            }
            for arrival in try await stage.arrivals(other) { #expect(arrival.upgrade == nil && arrival.rest == 200) }
        }
    }

    @Test func `revoking a link closes its viewers' sessions, and the link is refused afterwards`() async throws {
        try await RevocationScenario.run { stage in
            let links = TrackingLinks(ledger: stage.first.client, settings: stage.first.settings.liveState)
            let secret = try await links.issue(
                for: RevocationScenario.job, of: PersonID("anna")!, lifetime: .seconds(600), by: PersonID("service")!
            ).get()
            let id = try #require(TrackingLinks.id(of: secret))
            for isFirst in [true, false] {
                do {
                    try await stage.gateways[1].unsigned { connection, messages in
                        try await connection.send(.auth(.link(secret)))
                        if isFirst {
                            _ = try await messages.welcome()
                            try await stage.revoke(.link(id))
                        }
                        while try await messages.next() != nil {}
                    }
                    Issue.record("it went on")
                } catch let error as ClientError {
                    #expect(error == Self.revoked)
                }
            }
        }
    }

    @Test(arguments: [true, false])
    func `revoking a job closes the sessions with its links, and later sign-ins, with 4502`(isFollowing: Bool)
        async throws
    {
        try await RevocationScenario.run { stage in
            let links = TrackingLinks(ledger: stage.first.client, settings: stage.first.settings.liveState)
            let secret = try await links.issue(
                for: RevocationScenario.job, of: PersonID("anna")!, lifetime: .seconds(600), by: PersonID("service")!
            ).get()
            try await stage.gateways[1].unsigned { connection, messages in
                try await connection.send(.auth(.link(secret)))
                _ = try await messages.welcome()
                if isFollowing {
                    try await connection.send(.subscribe(job: RevocationScenario.job, since: nil))
                    _ = try await messages.subscribed()
                }
                try await stage.revoke(.job(RevocationScenario.job))
                if isFollowing {
                    let reason = try await messages.first { if case .ended(_, let reason) = $0 { reason } else { nil } }
                    #expect(reason == .revoked)
                }
                await #expect(throws: Self.revoked) { while try await messages.next() != nil {} }
            }
            try await stage.gateways[0].unsigned { connection, messages in
                try await connection.send(.auth(.link(secret)))
                await #expect(throws: Self.revoked) { while try await messages.next() != nil {} }
            }
        }
    }

    @Test func `only services and operations staff can revoke, and malformed ids are refused`() async throws {
        try await RevocationScenario.run { stage in
            for (role, status) in [(Role.customer, 403), (.rider, 403), (.ops, 204), (.service, 204)] {
                let token = try await stage.first.token("somebody", role)
                let link = String(repeating: "0", count: 32)
                for path in ["users/bert", "tokens/abc%2Fdef", "jobs/job-2", "links/\(link)"] {
                    let answer = try await JobRoutesTests.ask(
                        stage.first, "DELETE", "/api/v1/grants/\(path)", as: token)
                    #expect(answer.status == status, "\(role) \(path)")
                }
            }
            let log = RevocationLog(ledger: stage.first.client, settings: stage.first.settings.liveState)
            let entries = try await log.read(from: "-").get()
            #expect(entries.count == 8)
            #expect(entries.contains { $0.revocation?.subject == .token("abc/def") })
            let service = try await stage.first.token("orders", .service)
            for path in ["links/xyz", "users/a%20b", "jobs/a.b", "tokens/%20"] {
                let answer = try await JobRoutesTests.ask(stage.first, "DELETE", "/api/v1/grants/\(path)", as: service)
                #expect(answer.status == 400, "\(path)")
            }
            let narrow = try await stage.first.mint.token(
                for: PersonID("orders")!, role: .service, now: Int64(Date.now.timeIntervalSince1970),
                job: JobID("job-2")!)
            for (path, status) in [("users/bert", 403), ("jobs/job-1", 403), ("jobs/job-2", 204)] {
                let answer = try await JobRoutesTests.ask(stage.first, "DELETE", "/api/v1/grants/\(path)", as: narrow)
                #expect(answer.status == status, "\(path)")
            }
        }
    }

    @Test func `a revoked job ends for its customer and its rider, and operations staff still see it`() async throws {
        try await RevocationScenario.run { stage in
            let second = stage.gateways[1]
            try await stage.first.connect("rider-1", .rider) { rider, receivedByRider in
                try await rider.send(.travel(job: RevocationScenario.job, active: true))
                #expect(try await receivedByRider.travelAnswer() != nil)
                try await second.connect("ops-1", .ops) { ops, receivedByOps in
                    try await ops.send(.subscribe(job: RevocationScenario.job, since: nil))
                    _ = try await receivedByOps.subscribed()
                    try await second.connect("anna", .customer) { anna, received in
                        try await anna.send(.subscribe(job: RevocationScenario.job, since: nil))
                        _ = try await received.subscribed()
                        try await stage.revoke(.job(RevocationScenario.job))
                        let reason = try await received.first { message -> EndReason? in
                            if case .ended(_, let reason) = message { reason } else { nil }
                        }
                        #expect(reason == .revoked)
                        // The response is the same as for another customer's job.
                        try await anna.send(.subscribe(job: RevocationScenario.job, since: nil))
                        #expect(try await received.refusal().code == .notFound)
                    }
                    let reasonForOps = try await receivedByOps.first { message -> EndReason? in
                        switch message {
                        case .tracking(_, .ended, let reason): reason
                        case .ended: throw Missing()
                        default: nil
                        }
                    }
                    #expect(reasonForOps == .revoked)
                    try await ops.send(.unsubscribe(job: RevocationScenario.job))
                    try await ops.send(.subscribe(job: RevocationScenario.job, since: nil))
                    #expect(try await receivedByOps.subscribed().tracking != .live)
                }
                try await rider.send(.travel(job: RevocationScenario.job, active: true))
                await #expect(throws: ErrorCode.notFound) { try await receivedByRider.travelAnswer() }
                try await rider.report(RevocationScenario.job, step: 1)
                #expect(try await receivedByRider.refusal().code == .notFound)
            }
            for gateway in stage.gateways {
                for (person, role, status) in [
                    ("anna", Role.customer, 404), ("rider-1", .rider, 404), ("ops-1", .ops, 200), ("o", .service, 200),
                ] {
                    let token = try await gateway.token(person, role)
                    let answer = try await JobRoutesTests.ask(gateway, "GET", "/api/v1/jobs/job-1", as: token)
                    #expect(answer.status == status, "\(role)")
                }
            }
            let record = try await stage.first.ledger.recover(RevocationScenario.job).get()?.record
            #expect(record?.isTravelling == false)
        }
    }

    @Test func `a ticket or a refresh with a revoked token is refused`() async throws {
        try await RevocationScenario.run { stage in
            let (token, other) = (
                try await stage.first.token("anna", .customer), try await stage.first.token("anna", .customer)
            )
            let tickets = Tickets(live: stage.first.client, settings: stage.first.settings.liveState)
            let expiry = Int64(Date.now.timeIntervalSince1970) + 900
            let ticket = try await tickets.issue(
                to: .init(
                    person: PersonID("anna")!, role: "customer", job: nil, rider: nil, token: token.tokenID,
                    issuedAt: expiry - 900, expiresAt: expiry)
            ).get()
            try await stage.revoke(.token(token.tokenID))
            #expect(
                try await eventually {
                    try await JobRoutesTests.ask(stage.first, "GET", "/api/v1/jobs/job-1", as: token).status == 401
                })
            let ending = try await blocking { [port = stage.first.port] in
                let socket = try RawSocket(port: port)
                try socket.send(
                    RawSocket.upgrade("/v1", "Sec-WebSocket-Protocol: enroute.v1, ticket.\(ticket)\r\n"))
                return String(decoding: try socket.readUntil(Array("access revoked".utf8)), as: UTF8.self)
            }
            #expect(!ending.contains("welcome"))
            try await GatewayConnection.open(stage.first.url, token: other) { connection in
                var messages = connection.messages.makeAsyncIterator()
                try await connection.send(.refresh(token: token))
                #expect(try await messages.refusal().code == .forbidden)
            }
        }
    }

    @Test func `a starting gateway closes the feed of a job that was revoked while no gateway was running`()
        async throws
    {
        try await within {
            try await RestartableRedis.running { redis in
                let address = try redis.address
                let client = try await RedisClient.started(at: address)
                defer { client.stop() }
                let (job, rider, state) = (RevocationScenario.job, PersonID("rider-1")!, LiveStateSettings())
                let feed = JobFeed(live: client, settings: state)
                let deadline = Int64(Date.now.timeIntervalSince1970 * 1000) + 3_600_000
                _ = try await feed.open(job, for: rider, until: deadline, fence: 1).get()
                _ = try await RevocationLog(ledger: client, settings: state).revoke(.job(job), by: rider, because: "")
                    .get()
                try await RunningGateway.run(isSecure: false, at: (address, address)) { _ in
                    let isClosed = try await eventually {
                        let state = try await feed.read(job).get()
                        return !state.isOpen
                    }
                    #expect(isClosed)
                }
            }
        }
    }

    @Test func `a starting gateway applies earlier revocations`() async throws {
        try await RevocationScenario.run { stage in
            let token = try await stage.first.token("anna", .customer)
            try await stage.revoke(.user(PersonID("anna")!))
            let address = try stage.redis.address
            try await RunningGateway.run(isSecure: false, at: (address, address)) { late in
                let answer = try await JobRoutesTests.ask(late, "GET", "/api/v1/jobs/job-1", as: token)
                #expect(answer.status == 401)
            }
        }
    }
}
