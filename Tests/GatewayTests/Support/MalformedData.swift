// Malformed values for every key and channel of Keyspace: where to write them, and how to make a gateway read them.
// MalformedDataTests fails if a key or channel of Keyspace is missing in the table.

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

/// A malformed value that replaces one of Enroute's.
enum HostileValue: String, CaseIterable, Sendable {
    /// A Redis list, a type that Enroute never uses.
    case wrongType
    case empty, notUTF8, most, least, infinite, notANumber, vast, huge, truncated, others

    /// - Parameters:
    ///   - good: a valid value, to be truncated.
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

    /// Values that are valid identifiers: a user may be called `inf`.
    static let names: Set<HostileValue> = [.most, .least, .infinite, .notANumber, .vast]
}

/// The names used by one trial. Trials share no names, so each one has its own log messages.
struct Trial: Sendable {
    let gateway: RunningGateway
    /// The monitor that counts and logs malformed values, for code that is called directly and not through a gateway.
    let faults: RedisFaultMonitors
    let number: Int
    /// A keyspace with its own prefix, for keys that are the same for all trials.
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

    /// Replaces the key by a list, or writes the bytes with this command, in which `nil` stands for the bytes.
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

    /// Reports a position of the rider, so that the script at the live instance runs.
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

    /// A Redis client that reports its failures to `faults`.
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

/// One key or channel of Keyspace.
struct MalformedData: Sendable {
    /// The function or variable of Keyspace that returns it.
    let name: String
    /// Values that cannot be distinguished from valid ones, or that are never read.
    var tolerated: Set<HostileValue> = []
    /// Writes the value, and everything else that its reader needs.
    let plant: @Sendable (Trial, HostileValue) async throws -> Void
    /// Makes a gateway, or its code, read the value.
    let meet: @Sendable (Trial) async throws -> Void
    /// The key as it appears in the log.
    let key: @Sendable (Trial) -> String
}
