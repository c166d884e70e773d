// Hostile values for every name of Keyspace: where each lies, how it is planted, and how a gateway is made to meet it. A
// table: a name of Keyspace that is not in it fails MalformedDataTests.

import Access
import EnrouteWire
import Foundation
import LiveState
import NIOCore
import Redis
import Telemetry
import TestSupport

@testable import Gateway
@testable import Realtime

/// What is put where something of ours should be.
enum HostileValue: String, CaseIterable, Sendable {
    /// A list: nothing of ours is one.
    case wrongType
    case empty, notUTF8, most, least, infinite, notANumber, vast, huge, truncated, others

    /// - Parameters:
    ///   - good: what would be right there, to be cut off.
    var bytes: (_ good: String) -> [UInt8] {
        { good in
            switch self {
            case .wrongType, .empty: []
            case .notUTF8: [0xFF, 0xFE, 0x80, 0x20, 0xC0]
            case .most: Array("9223372036854775807".utf8)
            case .least: Array("-9223372036854775808".utf8)
            case .infinite: Array("inf".utf8)
            case .notANumber: Array("nan".utf8)
            case .vast: Array("1e308".utf8)
            case .huge: [UInt8](repeating: UInt8(ascii: "A"), count: 100_000)
            case .truncated: Array(good.utf8.prefix(good.utf8.count / 2))
            case .others: Array(#"{"type":"status","job":"other"}"#.utf8)
            }
        }
    }

    /// As a name these are as good as any: `inf` may be somebody.
    static let names: Set<HostileValue> = [.most, .least, .infinite, .notANumber, .vast]
}

/// One trial's names: no two share any, so that each has a line of its own in the log.
struct Trial: Sendable {
    let gateway: RunningGateway
    /// Where it counts and says what it does: of calls that no request leads to.
    let faults: RedisFaultMonitors
    let number: Int
    /// Names that are the same for all trials stand behind a prefix of their own.
    var own: LiveStateSettings {
        var settings = self.gateway.settings.liveState
        settings.keyspace = Keyspace(prefix: "trial-\(self.number):")
        return settings
    }
    var keyspace: Keyspace { self.gateway.settings.liveState.keyspace }
    var job: JobID { JobID("job-\(self.number)")! }
    var zone: ZoneID { ZoneID("zone-\(self.number)")! }
    var rider: PersonID { PersonID("rider-\(self.number)")! }
    var path: String { "/api/v1/jobs/\(self.job)" }

    @discardableResult
    func run(_ words: [RedisCommand.Word]) async throws -> RESPValue {
        try await self.gateway.client.send(RedisCommand(words)).get()
    }

    /// Replaces the key by a list, or plants the bytes with these words, of which `nil` is the bytes.
    func plant(_ key: String, _ value: HostileValue, good: String, _ words: [RedisCommand.Word?]) async throws {
        guard value != .wrongType else {
            try await self.run(["DEL", .text(key)])
            try await self.run(["RPUSH", .text(key), "x"])
            return
        }
        let bytes = value.bytes(good)
        try await self.run(words.map { $0 ?? .bytes(bytes) })
    }

    func ask(
        _ method: String, _ path: String, by person: String = "olga", _ role: Role = .ops, _ body: String? = nil
    ) async throws -> RESTResponse {
        try await self.gateway.rest(method, path, by: person, role, body)
    }

    /// The rider reports a position, which the script at the live instance has to take.
    func report() async throws {
        let at = Int64(Date.now.timeIntervalSince1970 * 1000)
        _ = try await self.ask(
            "POST", "\(self.path)/locations", by: self.rider.text, .rider,
            #"{"fixes":[{"at":\#(at),"lat":41.9,"lon":12.5,"acc":5}]}"#)
    }

    func travel() async throws {
        _ = try await self.gateway.travellingJob(self.job.text, rider: self.rider.text)
        _ = try await self.ask("PUT", "\(self.path)/travel", by: self.rider.text, .rider)
    }

    /// A client whose failures are heard by `faults`.
    func client<Result: Sendable>(
        _ role: RedisMetrics.Role, _ body: (RedisClient) async throws -> Result
    ) async throws -> Result {
        let (address, loop) = (self.gateway.settings.live, self.gateway.client.eventLoop)
        let witness = role == .live ? self.faults.live : self.faults.ledger
        let client = try await loop.submit {
            RedisClient(address: address, eventLoop: loop, timing: .patient, logger: .quiet, witness: witness)
        }.get()
        try await client.start().get()
        defer { client.stop() }
        return try await body(client)
    }
}

/// One name of Keyspace.
struct MalformedData: Sendable {
    /// The function or variable of Keyspace that spells it.
    let name: String
    /// Values that are ours as far as anybody can tell, or that nothing reads.
    var tolerated: Set<HostileValue> = []
    /// Puts the value there, and everything beside it that a reader needs.
    let plant: @Sendable (Trial, HostileValue) async throws -> Void
    /// Makes a gateway, or its code, read it.
    let meet: @Sendable (Trial) async throws -> Void
    /// The key as it stands in the log.
    let key: @Sendable (Trial) -> String
}
