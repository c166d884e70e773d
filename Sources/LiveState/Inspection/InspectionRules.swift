// The rules for both roles. Pure functions; InspectionRoles has the rules for one role.

extension RedisFacts {
    /// A difference between the clocks that is worth a warning, ms.
    package static let clockWarningMilliseconds: Int64 = 200
    /// From this difference on, gateways refuse positions as captured in the future and reject tokens as not yet valid,
    /// ms.
    package static let clockErrorMilliseconds: Int64 = 30_000

    /// All findings about one Redis, most severe first.
    package func findings(in mode: DeploymentMode) -> [Finding] {
        let ofRole: [Finding?] =
            switch self.role {
            case .live: self.liveFindings(in: mode)
            case .ledger: self.ledgerFindings(in: mode)
            }
        let ofBoth: [Finding?] = [
            self.versionFinding, self.masterFinding, self.subscriberLimitFinding, self.accessFinding,
            self.clientsFinding, self.clockFinding, self.transportFinding, self.settingsFinding,
        ]
        return (ofRole + ofBoth).compactMap { $0 }.gravestFirst
    }

    private var versionFinding: Finding {
        let text = self.info["redis_version"] ?? "unknown"
        guard let version, version.major >= 7 else {
            return self.finding(
                .error, .version, "The Redis version is \(text).",
                why:
                    "Enroute needs 7.0 for sharded channels, for scripts that start with #!lua and for channel permissions.",
                remedy: "install redis-server 7.0 or later")
        }
        return self.ok(.version, "Redis \(text).")
    }

    private var masterFinding: Finding? {
        guard let isMaster else { return nil }
        guard isMaster else {
            return self.finding(
                .error, .master, "The server is a replica.", why: "A replica accepts no changes.",
                remedy: "use its master (\(self.info["master_host"] ?? "?"):\(self.info["master_port"] ?? "?")) "
                    + "in the URL, or the Sentinels")
        }
        return self.ok(.master, "The server is a master with \(self.replicas) replicas.")
    }

    private static let advisedLimit: [RedisRole: String] = [
        .live: "pubsub 64mb 16mb 10", .ledger: "pubsub 32mb 8mb 10",
    ]
    /// A burst can fill a smaller buffer than this, bytes.
    package static let leastBufferBytes: Int64 = 8 << 20

    private var subscriberLimitFinding: Finding? {
        guard let limit = self.subscriberLimit else { return nil }
        let remedy = self.setting("client-output-buffer-limit", Self.advisedLimit[self.role] ?? "")
        if limit.hardBytes == 0 {
            return self.finding(
                .warning, .buffers, "A subscriber that does not read is never disconnected.",
                why: "The messages queued for one hanging gateway can use up all memory.", remedy: remedy)
        }
        let least: Int64 = [limit.hardBytes, limit.softBytes].filter { $0 > 0 }.min() ?? 0
        if least < Self.leastBufferBytes {
            return self.finding(
                .warning, .buffers, "A subscriber is disconnected when \(least) bytes are queued for it.",
                why: "A burst can reach that. The gateway then reads every job again, which causes the next burst.",
                remedy: remedy)
        }
        return self.ok(.buffers, "A subscriber that does not read is disconnected at \(limit.hardBytes >> 20) MB.")
    }

    private var accessFinding: Finding? {
        guard let access else { return nil }
        let file = "deploy/redis/\(self.role.rawValue).acl"
        if !access.unknown.isEmpty {
            return self.finding(
                .error, .access, "Redis does not know required commands: \(access.unknown.joined(separator: ", ")).",
                why: "Gateways need them. Whatever uses them fails with \"unknown command\".",
                remedy:
                    "remove `rename-command` and loaded modules or proxies that disable these commands, restart Redis, "
                    + "and restrict users with \(file) instead")
        }
        if !access.missing.isEmpty {
            return self.finding(
                .error, .access, "The user lacks required permissions: \(access.missing.joined(separator: "; ")).",
                why: "Gateways need them and would fail with NOPERM.",
                remedy:
                    "use the user `enroute` of \(file), with the prefix of the gateways; after an upgrade, update it "
                    + "as in \"Replace the access lists\" of deploy/redis/README.md")
        }
        if !access.excessive.isEmpty {
            return self.finding(
                .warning, .access,
                "The user has permissions that no gateway needs: \(access.excessive.joined(separator: "; ")).",
                why: "Whoever takes over a gateway could use them to read, change or delete everything.",
                remedy: "create the user `enroute` as in \(file), and use it in the URL")
        }
        return self.ok(
            .access, "The user has the required permissions and none of the excessive ones that were checked.")
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
            why:
                "Deadlines depend on Redis's clock, and tokens on this machine's. If they differ by 30 s or more, positions "
                + "are refused as captured in the future.",
            remedy: "on both machines: timedatectl set-ntp true, then chronyc tracking (or timedatectl timesync-status)"
        )
    }

    private var transportFinding: Finding {
        switch self.connection.transport {
        case .sameMachine: self.ok(.encryption, "The connection does not leave this machine.")
        case .encrypted: self.ok(.encryption, "The connection uses TLS.")
        case .plaintext:
            self.finding(
                .warning, .encryption, "The connection crosses the network without TLS (\(self.connection.name)).",
                why: "Anyone on the path can read positions and the password.",
                remedy:
                    "configure tls-port and certificates in Redis (deploy/redis/README.md), and use rediss:// in the URL"
            )
        }
    }

    private var settingsFinding: Finding? {
        let admin = RedisURLSetting.admin(self.role)
        guard !self.isAdminElsewhere else {
            return self.finding(
                .error, .settings, "A different Redis answers at \(admin), so its settings were ignored.",
                why: "They say nothing about the instance that gateways use.",
                remedy: "set \(admin) to the address of \(self.connection.name), with a user that may run INFO and "
                    + "CONFIG GET, for example `operations` of deploy/redis; or unset it")
        }
        guard self.settings == nil else { return nil }
        let seen = self.role == .live ? "snapshots (save), the slow log" : "snapshots (save), appendfsync"
        return self.finding(
            .warning, .settings,
            "CONFIG GET is not permitted, as recommended, so \(seen) and buffer limits were not checked.",
            why: "INFO shows only what has already happened.",
            remedy: "set \(admin) to a user with that permission, "
                + "for example `operations` of deploy/redis")
    }
}

extension [Finding] {
    /// Errors first, then warnings, then the rest; each in the order in which they were found.
    package var gravestFirst: [Finding] {
        [.error, .warning, .ok].flatMap { severity in self.filter { $0.severity == severity } }
    }
}

extension RedisFacts {
    /// Whether both are the same process, or the same cluster, where each URL may have led to a different node.
    package func isOne(with other: RedisFacts) -> Bool {
        self.runID == other.runID || self.connection.name == other.connection.name
    }
}

/// Whether the two roles use separate instances.
///
/// - Returns: `nil` when that is unknown.
package func separationFinding(_ live: RedisFacts, _ ledger: RedisFacts, in mode: DeploymentMode) -> Finding? {
    guard live.runID != nil, ledger.runID != nil else { return nil }
    guard live.isOne(with: ledger) else {
        return Finding(.ok, .ledger, .separation, what: "The ledger is a separate instance from live.")
    }
    return Finding(
        mode == .production ? .error : .ok, .ledger, .separation, what: "The ledger is the same instance as live.",
        why: mode == .production
            ? "Positions must not reach a disk, but jobs must. One instance cannot do both." : "",
        remedy: mode == .production
            ? "start a second redis-server with deploy/redis/ledger.conf and set \(RedisURLSetting.ledger) to it" : "")
}
