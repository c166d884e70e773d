// The rules for one role: persistence and memory. The two roles need opposite settings.

extension RedisFacts {
    // MARK: live: nothing may reach a disk

    func liveFindings(in mode: DeploymentMode) -> [Finding?] {
        // The instance holds the ledger's data, which the other remedies would destroy.
        if self.holdsJobs { return [self.livePersistence(in: mode)] }
        return [
            self.livePersistence(in: mode), self.liveCopies(in: mode), self.liveEviction, self.liveMemory,
            self.liveSlowLog,
        ]
    }

    /// Whether positions can reach a disk.
    package func livePersistence(in mode: DeploymentMode) -> Finding {
        var (ways, remedies) = ([String](), [String]())
        if self.appends == true {
            ways.append("it appends every change to a file (appendonly yes)")
            remedies.append(self.setting("appendonly", "no"))
        }
        if let rule = self.snapshotRule, !rule.isEmpty {
            ways.append("it writes snapshots (save \(rule))")
            remedies.append(self.setting("save", ""))
        } else if self.snapshotRule == nil, self.snapshotsWritten > 0 {
            ways.append("it has written \(self.snapshotsWritten) snapshots since it started")
            remedies.append(self.setting("save", ""))
        }
        guard !ways.isEmpty else {
            return self.snapshotRule == nil
                ? self.ok(.persistence, "No snapshot has been written to disk since the server started.")
                : self.ok(.persistence, "Nothing is written to disk.")
        }
        return self.finding(
            mode == .production ? .error : .warning, .persistence,
            "The live instance stores positions on disk: \(ways.joined(separator: ", and ")).",
            why: "Positions must not outlive the trip, but files and their backups do.",
            remedy: self.holdsJobs
                ? "keep this instance unchanged, because it holds jobs; start a second redis-server with "
                    + "deploy/redis/live.conf and set \(RedisURLSetting.live) to it"
                : (remedies + ["then delete the files that were written (CONFIG GET dir)"]).joined(separator: "; "))
    }

    private func liveCopies(in mode: DeploymentMode) -> Finding? {
        guard let settings else { return nil }
        let wrong = [("repl-diskless-sync", "no", "yes"), ("repl-diskless-load", "disabled", "swapdb")]
            .filter { settings[$0.0] == $0.1 }
        guard !wrong.isEmpty else { return self.ok(.copies, "Replicas are synchronized without a file.") }
        return self.finding(
            self.replicas > 0 && mode == .production ? .error : .warning, .copies,
            "Replicas are synchronized through a file (\(wrong.map { "\($0.0) \($0.1)" }.joined(separator: ", "))).",
            why: "That file contains all positions, on the master or on the replica.",
            remedy: wrong.map { self.setting($0.0, $0.2) }.joined(separator: "; ") + "; on every replica too")
    }

    private var liveEviction: Finding? {
        guard let policy = self.evictionPolicy else { return nil }
        guard policy != "volatile-ttl" else {
            return self.ok(.eviction, "When memory is full, the keys that expire soonest are evicted (volatile-ttl).")
        }
        return self.finding(
            .warning, .eviction, "The eviction policy is \(policy).",
            why: policy == "noeviction"
                ? "When memory is full, every position is refused."
                : "When memory is full, travel mode entries may be evicted before positions.",
            remedy: self.setting("maxmemory-policy", "volatile-ttl"))
    }

    private var liveMemory: Finding? {
        guard let bytes = self.maxMemoryBytes else { return nil }
        if bytes == 0 {
            return self.finding(
                .warning, .memory, "There is no memory limit.",
                why:
                    "The system kills a process that uses too much memory, or swaps it out, which puts positions on a disk.",
                remedy: self.setting("maxmemory", "512mb"))
        }
        if self.isMemoryFull {
            return self.evictionPolicy == "noeviction"
                ? self.memoryFull(.error, why: "Redis refuses every position (OOM).")
                : self.memoryFull(.warning, why: "Redis evicts positions, or refuses them when nothing can be evicted.")
        }
        if self.evictedKeys > 0 {
            return self.finding(
                .warning, .memory, "Memory was full: \(self.evictedKeys) keys were evicted since the server started.",
                why: "Followers of those jobs saw no position.",
                remedy: self.largerMemory)
        }
        return self.ok(.memory, "Memory is limited to \(bytes >> 20) MB, and no key has been evicted.")
    }

    private func memoryFull(_ severity: Finding.Severity, why: String) -> Finding {
        self.finding(
            severity, .memory,
            "Memory is full: \(self.usedMemoryBytes ?? 0) bytes are used, and the limit is \(self.maxMemoryBytes ?? 0).",
            why: why, remedy: self.largerMemory)
    }

    /// Twice the used or the allowed memory, rounded up to a megabyte.
    private var largerMemory: String {
        let bytes = max(self.usedMemoryBytes ?? 0, self.maxMemoryBytes ?? 0) * 2
        return self.setting("maxmemory", "\((bytes + (1 << 20) - 1) >> 20)mb")
    }

    private var liveSlowLog: Finding? {
        guard let bound = self.slowLogMicroseconds else { return nil }
        guard bound >= 0 else { return self.ok(.slowlog, "The slow log is off.") }
        return self.finding(
            .warning, .slowlog, "Commands that take longer than \(bound) µs are in the slow log, with their arguments.",
            why: "The arguments contain positions, which everyone with access to the slow log can read.",
            remedy: self.setting("slowlog-log-slower-than", "-1")
                + "; then \(self.connection.commandLine) SLOWLOG RESET")
    }

    // MARK: ledger: everything is persisted

    func ledgerFindings(in mode: DeploymentMode) -> [Finding?] {
        [
            self.ledgerPersistence(in: mode), self.ledgerReload(in: mode), self.ledgerEviction, self.ledgerMemory,
            self.ledgerReplicas(in: mode),
        ]
    }

    private func ledgerPersistence(in mode: DeploymentMode) -> Finding? {
        guard let appends else { return nil }
        let remedy = self.setting("appendonly", "yes")
        guard appends else {
            let hasSnapshots = self.snapshotRule.map { !$0.isEmpty } ?? (self.snapshotsWritten > 0)
            if hasSnapshots || self.snapshotRule == nil {
                return self.finding(
                    .warning, .persistence, "Changes are not appended to a file (appendonly no).",
                    why: "A restart goes back to the last snapshot, if there is one.",
                    remedy: remedy)
            }
            return self.finding(
                mode == .production ? .error : .warning, .persistence, "The ledger writes nothing to disk.",
                why: "A restart loses all jobs: followers see none, and no rider may share their position.",
                remedy: remedy)
        }
        if self.settings?["appendfsync"] == "no" {
            return self.finding(
                .warning, .persistence,
                "Changes are appended to a file, but the system decides when to write them to the disk.",
                why: "A power failure can lose about 30 s of statuses.",
                remedy: self.setting("appendfsync", "everysec"))
        }
        return self.ok(.persistence, "Every change is appended to a file.")
    }

    private var ledgerEviction: Finding? {
        guard let policy = self.evictionPolicy else { return nil }
        guard policy != "noeviction" else { return self.ok(.eviction, "No key is evicted when memory is full.") }
        let isBounded = (self.maxMemoryBytes ?? 0) > 0
        return self.finding(
            isBounded ? .error : .warning, .eviction, "When memory is full, jobs are evicted (\(policy)).",
            why: "Every job has an expiry time, so any job may be chosen, including active ones.",
            remedy: self.setting("maxmemory-policy", "noeviction"))
    }

    private var ledgerMemory: Finding? {
        guard let bytes = self.maxMemoryBytes, bytes > 0 else { return nil }
        guard self.isMemoryFull else {
            return self.ok(.memory, "Memory is limited to \(bytes >> 20) MB, and not full.")
        }
        return self.memoryFull(
            .error,
            why: self.evictionPolicy == "noeviction"
                ? "Redis refuses every change (OOM)." : "Redis evicts jobs, or refuses every change.")
    }

    /// Redis refuses every change, because too few replicas acknowledge what they receive.
    private var ledgerWithoutReplicas: Finding? {
        let recent = self.recentReplicas
        // If INFO has the field, the setting is at least 1.
        guard let needed = self.replicasToWrite ?? recent.map({ _ in 1 }), needed > recent ?? self.replicas else {
            return nil
        }
        let available = recent ?? self.replicas
        let isSilent = available < self.replicas
        return self.finding(
            .error, .replicas,
            "Writes require \(self.replicasToWrite == nil ? "replicas" : "\(needed) replicas"), but "
                + (isSilent
                    ? "only \(available) of \(self.replicas) connected ones have answered recently."
                    : "\(available) are connected."),
            why: "Redis refuses every change (NOREPLICAS).",
            remedy: (isSilent ? "check the replicas and the network to them" : "start the replicas")
                + "; or, as a temporary measure, " + self.setting("min-replicas-to-write", "\(available)"))
    }

    private func ledgerReplicas(in mode: DeploymentMode) -> Finding? {
        guard self.isMaster == true else { return nil }
        if let refusal = self.ledgerWithoutReplicas { return refusal }
        let needed = self.replicasToWrite
        if self.replicas == 0 {
            return self.finding(
                mode == .production ? .warning : .ok, .replicas, "No replica is connected.",
                why: mode == .production ? "If this machine's disk fails, the jobs are lost." : "",
                remedy: mode == .production ? "add a redis-server with replicaof (deploy/redis/README.md)" : "")
        }
        guard let needed, needed == 0 else {
            return self.ok(.replicas, "\(self.replicas) replicas are connected.")
        }
        return self.finding(
            .warning, .replicas, "The master accepts changes without any replica (min-replicas-to-write 0).",
            why: "A master that is cut off keeps accepting changes, which are lost when a replica is promoted.",
            remedy: self.setting("min-replicas-to-write", "1"))
    }
}
