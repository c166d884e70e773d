// From facts to findings: what the two roles ask of the disk and of memory, which is the opposite of each other.

extension RedisFacts {
    // MARK: live: nothing reaches a disk

    func liveFindings(in mode: DeploymentMode) -> [Finding?] {
        // What else live needs would harm the ledger whose instance this is as well.
        if self.holdsJobs { return [self.livePersistence(in: mode)] }
        return [
            self.livePersistence(in: mode), self.liveCopies(in: mode), self.liveEviction, self.liveMemory,
            self.liveSlowLog,
        ]
    }

    /// Whether positions may reach a disk.
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
                ? self.ok(.persistence, "Nothing has been written to disk so far.")
                : self.ok(.persistence, "Nothing is written to disk.")
        }
        return self.finding(
            mode == .production ? .error : .warning, .persistence,
            "The live instance keeps positions on disk: \(ways.joined(separator: ", and ")).",
            why: "Where riders are must not outlive their journey; a file does, in backups too.",
            remedy: self.holdsJobs
                ? "keep this instance as it is, it holds jobs: a second redis-server with deploy/redis/live.conf, and its "
                    + "URL in ENROUTE_REDIS_LIVE_URL"
                : (remedies + ["then delete what it has written (CONFIG GET dir)"]).joined(separator: "; "))
    }

    private func liveCopies(in mode: DeploymentMode) -> Finding? {
        guard let settings else { return nil }
        let wrong = [("repl-diskless-sync", "no", "yes"), ("repl-diskless-load", "disabled", "swapdb")]
            .filter { settings[$0.0] == $0.1 }
        guard !wrong.isEmpty else { return self.ok(.copies, "Replicas are made without a file.") }
        return self.finding(
            self.replicas > 0 && mode == .production ? .error : .warning, .copies,
            "A replica is made by way of a file (\(wrong.map { "\($0.0) \($0.1)" }.joined(separator: ", "))).",
            why: "All positions are in that file, on the master or on the replica.",
            remedy: wrong.map { self.setting($0.0, $0.2) }.joined(separator: "; ") + "; on every replica too")
    }

    private var liveEviction: Finding? {
        guard let policy = self.evictionPolicy else { return nil }
        guard policy != "volatile-ttl" else {
            return self.ok(.eviction, "What ends soonest goes first (volatile-ttl).")
        }
        return self.finding(
            .warning, .eviction, "The policy of a full memory is \(policy).",
            why: policy == "noeviction"
                ? "When memory is full every position is refused."
                : "When memory is full the right to share positions may go before a position does.",
            remedy: self.setting("maxmemory-policy", "volatile-ttl"))
    }

    private var liveMemory: Finding? {
        guard let bytes = self.maxMemoryBytes else { return nil }
        if bytes == 0 {
            return self.finding(
                .warning, .memory, "Memory has no bound.",
                why: "The system ends a process that takes too much, or swaps it out: then positions are on a disk.",
                remedy: self.setting("maxmemory", "512mb"))
        }
        if self.evictedKeys > 0 {
            return self.finding(
                .warning, .memory, "\(self.evictedKeys) keys had to go since it started: memory was full.",
                why: "Their followers saw a journey without a position.",
                remedy: self.setting("maxmemory", "\((bytes >> 20) * 2)mb"))
        }
        return self.ok(.memory, "Memory is bounded at \(bytes >> 20) MB, and was enough so far.")
    }

    private var liveSlowLog: Finding? {
        guard let bound = self.slowLogMicroseconds else { return nil }
        guard bound >= 0 else { return self.ok(.slowlog, "There is no slow log.") }
        return self.finding(
            .warning, .slowlog, "Commands over \(bound) µs stand in the slow log, with their arguments.",
            why: "Those are positions, to be read by everybody who may see the log, for as long as it is not full.",
            remedy: self.setting("slowlog-log-slower-than", "-1") + "; then \(self.place.commandLine) SLOWLOG RESET")
    }

    // MARK: ledger: it keeps what it is told

    func ledgerFindings(in mode: DeploymentMode) -> [Finding?] {
        [
            self.ledgerPersistence(in: mode), self.ledgerReload(in: mode), self.ledgerEviction,
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
                    why: "After a restart, jobs are as they were at the last snapshot, if there was one.",
                    remedy: remedy)
            }
            return self.finding(
                mode == .production ? .error : .warning, .persistence, "The ledger writes nothing to disk.",
                why: "After a restart no job is known: followers see none, and no rider may share its position.",
                remedy: remedy)
        }
        if self.settings?["appendfsync"] == "no" {
            return self.finding(
                .warning, .persistence, "Changes are appended, and the system decides when they are on the disk.",
                why: "Half a minute of statuses is lost with the machine's power.",
                remedy: self.setting("appendfsync", "everysec"))
        }
        return self.ok(.persistence, "Every change is appended to a file.")
    }

    private var ledgerEviction: Finding? {
        guard let policy = self.evictionPolicy else { return nil }
        guard policy != "noeviction" else { return self.ok(.eviction, "Nothing is thrown away to make room.") }
        let isBounded = (self.maxMemoryBytes ?? 0) > 0
        return self.finding(
            isBounded ? .error : .warning, .eviction, "When memory is full, jobs are thrown away (\(policy)).",
            why: "Every job has a lifetime, so that any of them may be chosen, under way or not.",
            remedy: self.setting("maxmemory-policy", "noeviction"))
    }

    private func ledgerReplicas(in mode: DeploymentMode) -> Finding? {
        guard self.isMaster == true else { return nil }
        let needed = self.replicasToWrite
        if let needed, needed > self.replicas {
            return self.finding(
                .error, .replicas, "A change needs \(needed) replicas and there are \(self.replicas).",
                why: "Every change is refused (NOREPLICAS).",
                remedy: "start the replicas; or for the time being "
                    + self.setting("min-replicas-to-write", "\(self.replicas)"))
        }
        if self.replicas == 0 {
            return self.finding(
                mode == .production ? .warning : .ok, .replicas, "No replica follows it.",
                why: mode == .production ? "With this machine's disk the jobs are gone." : "",
                remedy: mode == .production ? "a second redis-server with replicaof (deploy/redis/README.md)" : "")
        }
        guard let needed, needed == 0 else {
            return self.ok(.replicas, "\(self.replicas) replicas follow it.")
        }
        return self.finding(
            .warning, .replicas, "It accepts changes that no replica has (min-replicas-to-write 0).",
            why: "Cut off from the others it goes on, and what it took is lost when another becomes the master.",
            remedy: self.setting("min-replicas-to-write", "1"))
    }
}
