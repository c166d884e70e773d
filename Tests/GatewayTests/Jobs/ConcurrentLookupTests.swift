import EnrouteWire
import LiveState
import NIOCore
import Redis
import Routing
import Synchronization
import TestSupport
import Testing

@testable import Gateway
@testable import Jobs
@testable import Realtime

/// What others write while the answer to a repeated lookup is being stored.
@Suite struct ConcurrentLookupTests {
    private static let job = JobID("job-1")!
    private static let address = "Café Größe 1&2, Wien"

    /// How often the provider has answered.
    private final class Answers: Sendable { let count = Mutex(0) }

    private typealias Change = @Sendable (JobLedger) -> EventLoopFuture<Durable<JobLedger.Description>>

    /// A job whose address the provider does not answer.
    private static func run(
        _ body: @escaping @Sendable (RunningGateway, ProviderServer, _ redis: RedisClient) async throws -> Void
    ) async throws {
        try await ProviderServer.running({ _ in .json("", status: 500) }) { server in
            let service = try MapboxGeocoding(key: ProviderKey(ProviderFixtures.keyText)!, url: server.url)
            try await within {
                try await RunningGateway.run(isSecure: false) {
                    $0.arrivals.geocoding = (service: service, dailyBudget: nil)
                    $0.arrivals.geocodingPauses = Array(repeating: .milliseconds(50), count: 1000)
                } _: { gateway in
                    // The second request loads the script that changes jobs.
                    for member in ["", #","address":"\#(Self.address)""#] {
                        let written = try await gateway.rest(
                            "PUT", "/api/v1/jobs/\(Self.job)", by: "orders", .service,
                            #"{"kind":"service","customer":"anna"\#(member)}"#)
                        #expect([200, 201].contains(written.status), "\(written)")
                    }
                    let redis = try await RedisClient.started(at: try #require(gateway.redis).address)
                    defer { redis.stop() }
                    try await body(gateway, server, redis)
                }
            }
        }
    }

    /// Redis executes `change` after a lookup has read the job and before the lookup stores the place. Writes that wait
    /// are executed in the order of their arrival.
    private static func overtake(
        _ gateway: RunningGateway, _ server: ProviderServer, _ redis: RedisClient, with change: Change
    ) async throws -> Answers {
        try await redis.run("CLIENT", "PAUSE", "60000", "WRITE")
        let changed = change(gateway.ledger)
        try await becomes("the change waits") { try await Self.waitingClients(redis) > 0 }
        let before = try await Self.waitingClients(redis)
        let answers = Answers()
        server.behave { question in
            answers.count.withLock { $0 += 1 }
            return ProviderFixtures.mapbox(question)
        }
        try await becomes("the lookup has its answer and waits") {
            try await Self.waitingClients(redis) > before && answers.count.withLock { $0 } > 0
        }
        try await redis.run("CLIENT", "UNPAUSE")
        #expect(try await changed.get().value == .changed)
        return answers
    }

    private static func waitingClients(_ redis: RedisClient) async throws -> Int {
        let info = try await redis.run("INFO", "clients").text ?? ""
        return info.firstMatch(of: /blocked_clients:([0-9]+)/).flatMap { Int($0.1) } ?? 0
    }

    private static func read(_ gateway: RunningGateway) async throws -> RESTResponse {
        try await gateway.rest("GET", "/api/v1/jobs/\(Self.job)", by: "orders", .service)
    }

    @Test func `a destination that is written while a place is stored is not replaced`() async throws {
        try await Self.run { gateway, server, redis in
            let place = Coordinate(latitude: 48.2, longitude: 16.4)!
            let answers = try await Self.overtake(gateway, server, redis) { ledger in
                ledger.describe(Self.job, kind: .service, zone: nil, destination: place, vendor: nil)
            }
            // Everything that waited was executed before this command.
            let job = try await Self.read(gateway)
            #expect(job.text.contains(#"{"lat":48.2,"lon":16.4}"#) && !job.text.contains("48.2351"), "\(job)")
            #expect((job.member("geocoding") as String?) == nil && answers.count.withLock { $0 } == 1)
        }
    }

    @Test func `a place is stored although the job changes meanwhile, and the provider is not asked again`()
        async throws
    {
        try await Self.run { gateway, server, redis in
            let metadata = try JobMetadata(["floor": "2"])
            let answers = try await Self.overtake(gateway, server, redis) { ledger in
                ledger.describe(
                    Self.job, kind: .service, zone: nil, destination: nil, vendor: nil, metadata: metadata)
            }
            try await becomes("the place is stored") { try await Self.read(gateway).member("geocoding") == "ok" }
            let job = try await Self.read(gateway)
            #expect(job.text.contains(#""floor":"2""#) && job.text.contains("48.2351"), "\(job)")
            #expect(answers.count.withLock { $0 } == 1)
        }
    }
}
