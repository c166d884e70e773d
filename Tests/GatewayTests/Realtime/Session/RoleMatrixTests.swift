import Access
import EnrouteClient
import EnrouteWire
import Foundation
import Testing

@testable import Gateway
@testable import Realtime

/// Every verb by every role, over every interface, against a table that is repeated here on purpose.
@Suite struct RoleMatrixTests {
    /// The allowed combinations (threat E1). All others must be refused.
    private static let allowed: [Verb: Set<Role>] = [
        .followJob: [.customer, .rider, .ops, .service],
        .readJob: [.customer, .rider, .ops, .service],
        .createJob: [.service],
        .eraseJob: [.service],
        .changeStatus: [.customer, .rider, .ops, .service],
        .correctJob: [.ops, .service],
        .writeNote: [.customer, .service],
        .noteJob: [.ops, .service],
        .reportLocation: [.rider],
        .readVerdicts: [.rider, .ops, .service],
        .switchTravel: [.rider],
        .createTicket: [.customer, .rider, .ops, .service],
        .assignJob: [.ops, .service],
        .createLink: [.customer, .ops, .service],
        .revokeGrant: [.ops, .service],
        .sendEvents: [.service],
        .followPool: [.ops, .service],
        .lookAtZones: [.ops, .service],
        .beAvailable: [.rider],
        .takeTask: [.rider],
        .readRiders: [.ops, .service],
        .describeRider: [.service],
        .forceOffline: [.ops, .service],
        .navigate: [.rider],
        .explainJob: [.ops],
        .explainRider: [.ops],
        .manageWebhooks: [.service],
        .operateWebhooks: [.ops, .service],
        .readWebhooks: [.ops, .service],
    ]

    /// One way to request a verb for one's own job.
    private enum Way: Sendable {
        /// Method, path, body and the status of success.
        case rest(String, String, String?, Int)
        case socket(ClientMessage)
    }

    /// In an order in which each request can succeed.
    private static func ways(_ job: JobID) -> [(Verb, Way)] {
        let fix = Fix(
            at: Int64(Date.now.timeIntervalSince1970 * 1000), place: Coordinate(latitude: 41.9, longitude: 12.5)!)
        let path = "/api/v1/jobs"
        let batch = #"{"fixes":[{"at":\#(fix.at - 1),"lat":41.9,"lon":12.5}]}"#
        return [
            (.createJob, .rest("POST", path, #"{"job":"new-\#(job)","kind":"service","customer":"anna"}"#, 201)),
            (.createJob, .rest("PUT", "\(path)/newer-\(job)", #"{"kind":"service","customer":"anna"}"#, 201)),
            (.eraseJob, .rest("DELETE", "\(path)/newer-\(job)", nil, 204)),
            (.readJob, .rest("GET", "\(path)/\(job)", nil, 200)),
            (.readJob, .rest("GET", "\(path)/\(job)/log", nil, 200)),
            (.followJob, .socket(.subscribe(job: job, since: nil))),
            (.followPool, .socket(.watch(zone: ZoneID("zone-1")!, since: nil))),
            (.switchTravel, .rest("PUT", "\(path)/\(job)/travel", nil, 200)),
            (.reportLocation, .rest("POST", "\(path)/\(job)/locations", batch, 200)),
            (.reportLocation, .rest("PUT", "\(path)/\(job)/unavailable", #"{"reason":"hidden"}"#, 204)),
            (.writeNote, .rest("PUT", "\(path)/\(job)/note", #"{"note":"Gate code 42"}"#, 200)),
            (.readVerdicts, .rest("GET", "\(path)/\(job)/verdicts", nil, 200)),
            (.navigate, .rest("GET", "\(path)/\(job)/navigation?to=destination", nil, 200)),
            (.switchTravel, .rest("DELETE", "\(path)/\(job)/travel", nil, 200)),
            (.switchTravel, .socket(.travel(job: job, active: true))),
            (.reportLocation, .socket(.location(LocationReport(job: job, sequence: 1, fixes: [fix])))),
            (.switchTravel, .socket(.travel(job: job, active: false))),
            (.createTicket, .rest("POST", "/api/v1/tickets", nil, 201)),
            (.createTicket, .rest("POST", "/api/v1/sign-ins", nil, 201)),
            (.createLink, .rest("POST", "\(path)/\(job)/links", nil, 201)),
            (.revokeGrant, .rest("DELETE", "/api/v1/grants/users/nobody", nil, 204)),
            (.revokeGrant, .rest("DELETE", "/api/v1/grants/tokens/none", nil, 204)),
            (.revokeGrant, .rest("DELETE", "/api/v1/grants/jobs/other", nil, 204)),
            (.revokeGrant, .rest("DELETE", "/api/v1/grants/links/\(String(repeating: "0", count: 32))", nil, 204)),
            // Authorized, and then refused because of the content type.
            (.sendEvents, .rest("POST", "/api/v1/events", "{}", 415)),
            (.beAvailable, .rest("GET", "/api/v1/riders/me", nil, 200)),
            // Authorized, and then refused because there is no such status.
            (.beAvailable, .rest("PATCH", "/api/v1/riders/me/status", #"{"status":"asleep"}"#, 422)),
            (.beAvailable, .rest("PUT", "/api/v1/riders/me/presence", "{}", 204)),
            (.takeTask, .rest("POST", "\(path)/\(job)/task", #"{"state":"lost"}"#, 422)),
            (.beAvailable, .socket(.availability(.online, device: nil))),
            (.beAvailable, .socket(.presence(nil, device: nil))),
            (.readRiders, .rest("GET", "/api/v1/riders/rider-9", nil, 404)),
            (.readRiders, .rest("GET", "/api/v1/zones/rome/riders/available", nil, 200)),
            (.lookAtZones, .rest("GET", "/api/v1/zones", nil, 200)),
            (.lookAtZones, .socket(.watchJobs(zone: ZoneID("zone-1")!))),
            (.lookAtZones, .socket(.watchPlaces(zone: ZoneID("zone-1")!))),
            (.lookAtZones, .rest("GET", "/api/v1/zones/rome/jobs", nil, 200)),
            (.lookAtZones, .rest("GET", "/api/v1/zones/rome/riders", nil, 200)),
            (.lookAtZones, .rest("GET", "/api/v1/zones/rome/verdicts", nil, 200)),
            (.lookAtZones, .rest("GET", "/api/v1/zones/rome/audit", nil, 200)),
            (.lookAtZones, .rest("GET", "/api/v1/gateways", nil, 200)),
            (.explainJob, .rest("GET", "\(path)/\(job)/explanation", nil, 200)),
            (.explainRider, .rest("GET", "/api/v1/riders/rider-1/explanation", nil, 200)),
            (.readWebhooks, .rest("GET", "/api/v1/webhooks", nil, 200)),
            (.readWebhooks, .rest("GET", "/api/v1/webhooks/wh_1", nil, 404)),
            (.readWebhooks, .rest("GET", "/api/v1/webhooks/wh_1/undelivered", nil, 404)),
            // Authorized, and then refused because the endpoint must be https.
            (.manageWebhooks, .rest("POST", "/api/v1/webhooks", #"{"url":"http://a.example"}"#, 422)),
            (.manageWebhooks, .rest("DELETE", "/api/v1/webhooks/wh_1", nil, 404)),
            (.manageWebhooks, .rest("POST", "/api/v1/webhooks/wh_1/secret", nil, 404)),
            (.operateWebhooks, .rest("POST", "/api/v1/webhooks/wh_1/test", nil, 404)),
            (.operateWebhooks, .rest("POST", "/api/v1/webhooks/wh_1/replay", nil, 404)),
            (.describeRider, .rest("PUT", "/api/v1/riders/rider-2", #"{"zone":"rome","approved":true}"#, 201)),
            (.describeRider, .rest("DELETE", "/api/v1/riders/rider-2", nil, 204)),
            (.forceOffline, .rest("PATCH", "/api/v1/riders/rider-9/status", #"{"status":"offline"}"#, 404)),
            (.assignJob, .rest("PUT", "\(path)/\(job)/assignment", #"{"rider":"rider-2","insteadOf":"rider-1"}"#, 200)),
            (.assignJob, .rest("DELETE", "\(path)/\(job)/assignment", nil, 200)),
            (.noteJob, .rest("PUT", "\(path)/\(job)/operations-note", #"{"text":"Ring twice."}"#, 200)),
            (.noteJob, .rest("GET", "\(path)/\(job)/operations-note", nil, 200)),
            (.noteJob, .rest("DELETE", "\(path)/\(job)/operations-note", nil, 204)),
            (.correctJob, .rest("POST", "\(path)/\(job)/corrections", #"{"status":"none","reason":"a"}"#, 422)),
            // Authorized, and then refused because it is not a status (JobPartyTests test who may set which).
            (.changeStatus, .rest("POST", "\(path)/\(job)/status", #"{"status":"none"}"#, 422)),
        ]
    }

    private static let people: [Role: String] = [
        .customer: "anna", .rider: "rider-1", .ops: "olga", .service: "orders",
    ]

    @Test func `E1: grants match the table in this suite, which covers every role and verb`() {
        #expect(Set(Self.allowed.keys) == Set(Verb.allCases))
        for verb in Verb.allCases {
            for role in Role.allCases {
                let grant = Grant(person: PersonID("somebody")!, role: role)
                #expect(grant.allows(verb) == (Self.allowed[verb]?.contains(role) == true), "\(role) \(verb)")
            }
        }
        #expect(Set(Self.ways(JobID("j")!).map(\.0)) == Set(Verb.allCases))
    }

    @Test(arguments: Role.allCases)
    func `E1: each role may do what the table allows and nothing else, over WebSocket and REST`(
        role: Role
    ) async throws {
        try await within {
            try await RunningGateway.run(
                isSecure: false,
                {
                    // More requests than a person or an address sends at once.
                    $0.limits.requestsPerPersonBurst = 1_000
                    $0.limits.anonymousRequestsPerAddressBurst = 1_000
                    $0.limits.refusedTokensPerAddressBurst = 1_000
                }
            ) { gateway in
                let job = try await gateway.travellingJob()
                try await gateway.registerRider("rider-1", in: "rome")
                let person = try #require(Self.people[role])
                let token = try await gateway.token(person, role)
                try await gateway.connect(person, role) { connection, messages in
                    for (verb, way) in Self.ways(job) {
                        let isAllowed = Self.allowed[verb]?.contains(role) == true
                        switch way {
                        case .rest(let method, let path, let body, let success):
                            let answer = try await JobRoutesTests.ask(gateway, method, path, as: token, body)
                            #expect(answer.status == (isAllowed ? success : 403), "\(verb): \(answer)")
                            let anonymous = try await JobRoutesTests.ask(gateway, method, path, as: nil, body)
                            #expect(anonymous.status == 401, "\(verb)")
                        case .socket(let message):
                            try await connection.send(message)
                            let refusal = try await messages.answer()
                            #expect(refusal == (isAllowed ? nil : .forbidden), "\(verb)")
                        }
                    }
                }
            }
        }
    }

    @Test func `E1: a link viewer can follow its job and nothing else`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.limits.refusedTokensPerAddressBurst = 1000 }) {
                gateway in
                let job = try await gateway.travellingJob()
                let service = try await gateway.token("orders", .service)
                let made = try await JobRoutesTests.ask(gateway, "POST", "/api/v1/jobs/\(job)/links", as: service)
                let secret = String(try #require(made.text.firstMatch(of: /"link":"([0-9a-f]{32})"/)).1)
                try await gateway.unsigned { connection, messages in
                    try await connection.send(.auth(.link(secret)))
                    _ = try await messages.welcome()
                    try await connection.send(.refresh(token: try await gateway.token("anna", .customer)))
                    let renewal = try await messages.answer()
                    #expect(renewal == .forbidden)
                    for (verb, way) in Self.ways(job) {
                        switch way {
                        case .rest(let method, let path, let body, _):
                            let answer = try await JobRoutesTests.ask(gateway, method, path, as: secret, body)
                            #expect(answer.status == 401, "\(verb)")
                        case .socket(let message):
                            try await connection.send(message)
                            let refusal = try await messages.answer()
                            #expect(refusal == (verb == .followJob ? nil : .forbidden), "\(verb)")
                        }
                    }
                }
            }
        }
    }
}

extension GatewayConnection.Messages.AsyncIterator {
    /// The answer to the request: `nil` for success, or the error code.
    mutating func answer() async throws -> ErrorCode? {
        try await self.first { message -> ErrorCode?? in
            switch message {
            case .ok, .subscribed, .pool, .jobs, .places: .some(nil)
            case .error(let refusal): .some(refusal.code)
            default: nil
            }
        }
    }
}
