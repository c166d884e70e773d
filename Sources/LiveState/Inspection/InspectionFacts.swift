// What is known of one Redis before it is judged: where it is, what INFO and CONFIG GET say, what the gateway's user may,
// and how far apart the clocks are. A value, so that the judgement (InspectionRules) is tested without a server.

/// The two things Redis is for.
package enum RedisRole: String, Sendable, Hashable, Codable, CaseIterable {
    case live, ledger
}

/// Whether real people's positions are at stake.
package enum DeploymentMode: String, Sendable, Hashable, Codable, CaseIterable {
    case production, development
}

/// Facts about one Redis. What could not be asked is `nil`.
package struct RedisFacts: Sendable, Hashable {
    package var role: RedisRole
    package var place: RedisPlace
    /// Fields of INFO.
    package var info: [String: String]
    /// Settings that CONFIG GET answered; `nil` when nobody we sign in as may ask.
    package var settings: [String: String]?
    package var access: AccessFacts?
    /// The roles whose keys were seen there.
    package var keys: Set<RedisRole> = []
    /// Whether the append-only file can be loaded again; `nil` where nothing is appended.
    package var reload: ReloadFacts?
    /// How far Redis' clock is ahead of ours, ms; negative: behind.
    package var clockAheadMilliseconds: Int64?

    /// - Parameter info: the text of INFO.
    package init(role: RedisRole, place: RedisPlace, info: String, settings: [String: String]? = nil) {
        self.role = role
        self.place = place
        self.settings = settings
        let fields = info.split(whereSeparator: \.isNewline).compactMap { line -> (String, String)? in
            guard !line.hasPrefix("#"), let colon = line.firstIndex(of: ":") else { return nil }
            return (String(line[..<colon]), String(line[line.index(after: colon)...]))
        }
        self.info = Dictionary(fields) { first, _ in first }
    }

    /// Names asked for with CONFIG GET; none of them holds a password.
    package static let settingNames = [
        "save", "appendonly", "appendfsync", "maxmemory", "maxmemory-policy", "client-output-buffer-limit",
        "slowlog-log-slower-than", "repl-diskless-sync", "repl-diskless-load", "min-replicas-to-write",
    ]
}

extension RedisFacts {
    private func number(_ field: String) -> Int64? { self.info[field].flatMap { Int64($0) } }

    /// Major and minor version.
    package var version: (major: Int, minor: Int)? {
        let parts = (self.info["redis_version"] ?? "").split(separator: ".").compactMap { Int($0) }
        return parts.count >= 2 ? (parts[0], parts[1]) : nil
    }

    /// Tells one process from every other.
    package var runID: String? { self.info["run_id"] }
    package var isMaster: Bool? { self.info["role"].map { $0 == "master" } }
    package var replicas: Int64 { self.number("connected_slaves") ?? 0 }
    package var evictedKeys: Int64 { self.number("evicted_keys") ?? 0 }
    package var maxMemoryBytes: Int64? { self.number("maxmemory") }
    package var evictionPolicy: String? { self.info["maxmemory_policy"] ?? self.settings?["maxmemory-policy"] }
    /// Replicas a change needs; INFO shows it only when there is such a bound.
    package var replicasToWrite: Int64? { self.settings?["min-replicas-to-write"].flatMap { Int64($0) } }

    /// Whether every change is appended to a file.
    package var appends: Bool? {
        self.number("aof_enabled").map { $0 == 1 } ?? self.settings?["appendonly"].map { $0 == "yes" }
    }

    /// When snapshots are written, in Redis' words; '' for never, `nil` when it could not be seen.
    package var snapshotRule: String? { self.settings?["save"] }
    /// Snapshots written since it started, by rule or by hand.
    package var snapshotsWritten: Int64 { self.number("rdb_saves") ?? 0 }

    /// Slower commands are written down, µs; negative for none.
    package var slowLogMicroseconds: Int64? { self.settings?["slowlog-log-slower-than"].flatMap { Int64($0) } }

    /// When a subscriber that does not keep up is cut off.
    package struct BufferLimit: Sendable, Hashable {
        /// At once; 0 for never.
        package var hardBytes: Int64
        /// After `softSeconds`; 0 for never.
        package var softBytes: Int64
        package var softSeconds: Int64
    }

    /// From `normal 0 0 0 slave … pubsub <hard> <soft> <seconds>`.
    package var subscriberLimit: BufferLimit? {
        let words = (self.settings?["client-output-buffer-limit"] ?? "").split(separator: " ")
        guard let start = words.firstIndex(of: "pubsub"), words.count >= start + 4 else { return nil }
        let numbers = words[(start + 1)...(start + 3)].compactMap { Int64($0) }
        guard numbers.count == 3 else { return nil }
        return BufferLimit(hardBytes: numbers[0], softBytes: numbers[1], softSeconds: numbers[2])
    }
}
