// From facts to findings: what holds for both roles. A pure function; InspectionRoles has what differs.

extension RedisFacts {
    /// A clock so far off is worth a warning, ms.
    package static let clockWarningMilliseconds: Int64 = 200
    /// From here on positions are refused as being from the future, and tokens as not yet valid, ms.
    package static let clockErrorMilliseconds: Int64 = 30_000

    /// Everything there is to say about one Redis, the gravest first.
    package func findings(in mode: DeploymentMode) -> [Finding] {
        let ofRole: [Finding?] =
            switch self.role {
            case .live: self.liveFindings(in: mode)
            case .ledger: self.ledgerFindings(in: mode)
            }
        let ofBoth: [Finding?] = [
            self.versionFinding, self.masterFinding, self.subscriberLimitFinding, self.accessFinding,
            self.clockFinding, self.wayFinding, self.settingsFinding,
        ]
        return (ofRole + ofBoth).compactMap { $0 }.gravestFirst
    }

    private var versionFinding: Finding {
        let text = self.info["redis_version"] ?? "unknown"
        guard let version, version.major >= 7 else {
            return self.finding(
                .error, .version, "The version of Redis is \(text).",
                why: "Sharded channels, scripts that begin with #!lua and access lists for channels came with 7.0.",
                remedy: "install redis-server 7.0 or later")
        }
        return self.ok(.version, "Redis \(text).")
    }

    private var masterFinding: Finding? {
        guard let isMaster else { return nil }
        guard isMaster else {
            return self.finding(
                .error, .master, "It is a replica.", why: "A replica accepts no change.",
                remedy: "put its master (\(self.info["master_host"] ?? "?"):\(self.info["master_port"] ?? "?")) "
                    + "into the URL, or the Sentinels")
        }
        return self.ok(.master, "It is a master; \(self.replicas) replicas follow it.")
    }

    private static let advisedLimit: [RedisRole: String] = [
        .live: "pubsub 64mb 16mb 10", .ledger: "pubsub 32mb 8mb 10",
    ]
    /// Less than this is met in a burst, bytes.
    package static let leastBufferBytes: Int64 = 8 << 20

    private var subscriberLimitFinding: Finding? {
        guard let limit = self.subscriberLimit else { return nil }
        let remedy = self.setting("client-output-buffer-limit", Self.advisedLimit[self.role] ?? "")
        if limit.hardBytes == 0 {
            return self.finding(
                .warning, .buffers, "A subscriber that does not read is never cut off.",
                why: "What waits for one gateway that hangs takes the memory of everything else.", remedy: remedy)
        }
        let least: Int64 = [limit.hardBytes, limit.softBytes].filter { $0 > 0 }.min() ?? 0
        if least < Self.leastBufferBytes {
            return self.finding(
                .warning, .buffers, "A subscriber is cut off when \(least) bytes wait for it.",
                why: "A burst is enough for that; the gateway then reads every job again, which makes the next burst.",
                remedy: remedy)
        }
        return self.ok(.buffers, "A subscriber that does not read is cut off at \(limit.hardBytes >> 20) MB.")
    }

    private var accessFinding: Finding? {
        guard let access else { return nil }
        let file = "deploy/redis/\(self.role.rawValue).acl"
        if !access.missing.isEmpty {
            return self.finding(
                .error, .access, "The user may not: \(access.missing.joined(separator: "; ")).",
                why: "Gateways need that, and fail with NOPERM when they come to it.",
                remedy: "take the user `enroute` of \(file); the prefix of keys and channels stands there too")
        }
        if !access.excessive.isEmpty {
            return self.finding(
                .warning, .access, "The user may: \(access.excessive.joined(separator: "; ")).",
                why: "No gateway needs that; whoever takes one over could read, change or delete all of it.",
                remedy: "make the user `enroute` as in \(file), and name it in the URL")
        }
        return self.ok(.access, "The user may what gateways need, and none of what was tried beyond.")
    }

    private var clockFinding: Finding? {
        guard let ahead = self.clockAheadMilliseconds else { return nil }
        let distance = ahead.magnitude
        guard distance > Self.clockWarningMilliseconds else {
            return self.ok(.clock, "The Redis server's clock and this machine's are \(distance) ms apart.")
        }
        return self.finding(
            distance >= Self.clockErrorMilliseconds ? .error : .warning, .clock,
            "The Redis server's clock is \(distance) ms \(ahead > 0 ? "ahead of" : "behind") this machine's.",
            why: "Deadlines are Redis' time and tokens ours; from 30 s on, positions are refused as from the future.",
            remedy: "on both machines: timedatectl set-ntp true, then chronyc tracking (or timedatectl timesync-status)"
        )
    }

    private var wayFinding: Finding {
        switch self.place.way {
        case .sameMachine: self.ok(.encryption, "It is reached without leaving this machine.")
        case .encrypted: self.ok(.encryption, "It is reached through TLS.")
        case .readable:
            self.finding(
                .warning, .encryption, "It is reached over the network without TLS (\(self.place.name)).",
                why: "Who listens on the way reads positions, and the password.",
                remedy: "tls-port and certificates on Redis (deploy/redis/README.md), rediss:// in the URL")
        }
    }

    private var settingsFinding: Finding? {
        guard self.settings == nil else { return nil }
        let seen = self.role == .live ? "snapshots (save), the slow log" : "snapshots (save), appendfsync"
        return self.finding(
            .warning, .settings, "CONFIG GET is refused, as it should be; so \(seen) and buffer limits were not seen.",
            why: "INFO says only what has happened so far.",
            remedy: "ENROUTE_REDIS_\(self.role.rawValue.uppercased())_ADMIN_URL names a user that may, "
                + "for example `operations` of deploy/redis")
    }
}

extension [Finding] {
    /// Errors, warnings, the rest; each in the order they were found.
    package var gravestFirst: [Finding] {
        [.error, .warning, .ok].flatMap { severity in self.filter { $0.severity == severity } }
    }
}

extension RedisFacts {
    /// The same process, or one cluster, of which each may have asked another node.
    package func isOne(with other: RedisFacts) -> Bool {
        self.runID == other.runID || self.place.name == other.place.name
    }
}

/// What concerns the two together.
///
/// - Returns: `nil` when there is nothing to compare.
package func separationFinding(_ live: RedisFacts, _ ledger: RedisFacts, in mode: DeploymentMode) -> Finding? {
    guard live.runID != nil, ledger.runID != nil else { return nil }
    guard live.isOne(with: ledger) else {
        return Finding(.ok, .ledger, .separation, what: "It is another instance than live.")
    }
    return Finding(
        mode == .production ? .error : .ok, .ledger, .separation, what: "It is the same instance as live.",
        why: mode == .production
            ? "Positions must not reach a disk and jobs must: one instance can not do both." : "",
        remedy: mode == .production
            ? "a second redis-server with deploy/redis/ledger.conf, and its URL in ENROUTE_REDIS_LEDGER_URL" : "")
}
