// The facts about one Redis before they are assessed: its address, INFO and CONFIG GET, the permissions of the gateway's user,
// and the difference between the clocks. A value, so the rules (InspectionRules) can be tested without a server.

/// The two roles of Redis.
package enum RedisRole: String, Sendable, Hashable, Codable, CaseIterable {
    case live, ledger
}

/// Whether real people's positions are processed.
package enum DeploymentMode: String, Sendable, Hashable, Codable, CaseIterable {
    case production, development
}

/// Facts about one Redis; `nil` where something could not be determined.
package struct RedisFacts: Sendable, Hashable {
    package var role: RedisRole
    package var connection: RedisConnectionInfo
    /// Fields of INFO.
    package var info: [String: String]
    /// Settings from CONFIG GET; `nil` when neither user may read them.
    package var settings: [String: String]?
    /// Whether the admin is connected to another process, or to one that does not show its `run_id`.
    package var isAdminElsewhere = false
    package var access: AccessFacts?
    /// The roles whose keys were found.
    package var keys: Set<RedisRole> = []
    /// Whether the append-only file can be loaded again; `nil` when Redis writes no such file.
    package var reload: ReloadFacts?
    /// The connections that Redis has to accept; `nil` if they are not checked.
    package var clientDemand: ClientDemand?
    /// How far the clock of Redis is ahead of this machine's, ms; negative when it is behind.
    package var clockAheadMilliseconds: Int64?

    /// - Parameter info: the text of INFO.
    package init(role: RedisRole, connection: RedisConnectionInfo, info: String, settings: [String: String]? = nil) {
        self.role = role
        self.connection = connection
        self.settings = settings
        self.info = Self.fields(of: info)
    }

    /// The fields of the text of INFO.
    static func fields(of info: String) -> [String: String] {
        let fields = info.split(whereSeparator: \.isNewline).compactMap { line -> (String, String)? in
            guard !line.hasPrefix("#"), let colon = line.firstIndex(of: ":") else { return nil }
            return (String(line[..<colon]), String(line[line.index(after: colon)...]))
        }
        return Dictionary(fields) { first, _ in first }
    }

    /// Settings to read with CONFIG GET; none of them contains a password.
    package static let settingNames = [
        "save", "appendonly", "appendfsync", "maxmemory", "maxmemory-policy", "client-output-buffer-limit",
        "slowlog-log-slower-than", "repl-diskless-sync", "repl-diskless-load", "min-replicas-to-write",
    ]
}

extension RedisFacts {
    func number(_ field: String) -> Int64? { self.info[field].flatMap { Int64($0) } }

    /// Major and minor version of the server.
    package var version: (major: Int, minor: Int)? {
        let parts = (self.info["redis_version"] ?? "").split(separator: ".").compactMap { Int($0) }
        return parts.count >= 2 ? (parts[0], parts[1]) : nil
    }

    /// Identifies the server process.
    package var runID: String? { self.info["run_id"] }
    package var isMaster: Bool? { self.info["role"].map { $0 == "master" } }
    package var replicas: Int64 { self.number("connected_slaves") ?? 0 }
    package var evictedKeys: Int64 { self.number("evicted_keys") ?? 0 }
    package var maxMemoryBytes: Int64? { self.number("maxmemory") }
    /// Memory that counts towards the limit: without the buffers for replicas and for the append-only file.
    package var usedMemoryBytes: Int64? {
        self.number("used_memory").map { $0 - (self.number("mem_not_counted_for_evict") ?? 0) }
    }
    /// Whether the limit has been reached. Redis then evicts keys; if its policy forbids that, it refuses writes.
    package var isMemoryFull: Bool {
        guard let used = self.usedMemoryBytes, let bound = self.maxMemoryBytes, bound > 0 else { return false }
        return used > bound
    }
    package var evictionPolicy: String? { self.info["maxmemory_policy"] ?? self.settings?["maxmemory-policy"] }
    /// Replicas that have recently acknowledged what they received. INFO has the field only when writes require replicas.
    package var recentReplicas: Int64? { self.number("min_slaves_good_slaves") }
    /// Replicas required for a write.
    package var replicasToWrite: Int64? { self.settings?["min-replicas-to-write"].flatMap { Int64($0) } }

    /// Whether every change is appended to a file.
    package var appends: Bool? {
        self.number("aof_enabled").map { $0 == 1 } ?? self.settings?["appendonly"].map { $0 == "yes" }
    }

    /// The rule for snapshots in Redis syntax; '' for none, `nil` when it could not be read.
    package var snapshotRule: String? { self.settings?["save"] }
    /// Snapshots written since the server started, by the rule or by command.
    package var snapshotsWritten: Int64 { self.number("rdb_saves") ?? 0 }

    /// Threshold of the slow log in µs; negative when it is off.
    package var slowLogMicroseconds: Int64? { self.settings?["slowlog-log-slower-than"].flatMap { Int64($0) } }

    /// When Redis disconnects a subscriber that does not read fast enough.
    package struct BufferLimit: Sendable, Hashable {
        /// Disconnects immediately at this size; 0 for never.
        package var hardBytes: Int64
        /// Disconnects after `softSeconds` at this size; 0 for never.
        package var softBytes: Int64
        package var softSeconds: Int64
    }

    /// From `normal 0 0 0 slave … pubsub <hard> <soft> <seconds>`.
    package var subscriberLimit: BufferLimit? {
        let tokens = (self.settings?["client-output-buffer-limit"] ?? "").split(separator: " ")
        guard let start = tokens.firstIndex(of: "pubsub"), tokens.count >= start + 4 else { return nil }
        let numbers = tokens[(start + 1)...(start + 3)].compactMap { Int64($0) }
        guard numbers.count == 3 else { return nil }
        return BufferLimit(hardBytes: numbers[0], softBytes: numbers[1], softSeconds: numbers[2])
    }
}
