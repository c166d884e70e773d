// Monitors the replication state of a link's node every second. Another history (`master_replid`) or another role means
// that the master changed although the connection did not break. Also implements writes that wait for replicas.

internal import NIOCore

/// Monitors one link. Confined to its event loop.
final class ReplicationMonitor {
    private let link: RedisLink
    private var history: [UInt8]?
    /// Counted across all masters that this link has led to. A node without replicas may be the one that is being
    /// replaced, or the new one that the replicas have not found yet.
    private var replicas = RecentReplicas()
    /// The replicas of the connected node that receive writes; `nil` until it has reported them.
    private(set) var onlineReplicas: Int?
    private var lastCheck = NIODeadline.uptimeNanoseconds(0)
    private var isChecking = false
    /// The node has another history than before, or is not a master.
    var onChanged: (() -> Void)?

    init(link: RedisLink) {
        self.link = link
        link.onTick = { [weak self] now in self?.checkIfDue(now) }
        let before = link.onUp
        link.onUp = { [weak self] handler in
            before?(handler)
            // A new connection has already notified its owner that messages may be missing.
            self?.history = nil
            self?.isChecking = false
            self?.onlineReplicas = nil
            self?.check()
        }
    }

    private func checkIfDue(_ now: NIODeadline) {
        guard !self.isChecking, now - self.lastCheck >= self.link.timing.monitor else { return }
        self.check()
    }

    private func check() {
        guard let handler = self.link.handler else { return }
        self.lastCheck = .now()
        self.isChecking = true
        let bound = NIOLoopBound(self, eventLoop: self.link.eventLoop)
        handler.send(["INFO", "replication"]).whenComplete { result in
            bound.value.isChecking = false
            // Refused by an ACL rule, so replication cannot be monitored.
            guard case .success(let answer) = result, let text = answer.bytes else { return }
            bound.value.received(ReplicationInfo(text))
        }
    }

    private func received(_ info: ReplicationInfo) {
        self.replicas.record(info.onlineReplicas, now: .now())
        self.onlineReplicas = info.onlineReplicas
        let before = self.history
        self.history = info.history
        // When its first replica connects, a master gets a new replication id and an empty secondary id. That is no
        // change of the master.
        guard info.isMaster, before == nil || before == self.history || !info.hasPreviousHistory else {
            self.onChanged?()
            return
        }
    }

    // MARK: Writes

    private var neededReplicas: Int { self.link.timing.quorum.needed(of: self.replicas.maximum(now: .now())) }

    /// Sends a command. A durable write is followed by WAIT on the same connection if there are replicas.
    func send(_ command: RedisCommand, isDurable: Bool) -> EventLoopFuture<Durable<RESPValue>> {
        guard let handler = self.link.handler else {
            return self.link.eventLoop.makeFailedFuture(RedisError.disconnected)
        }
        let answer = handler.send(command)
        guard isDurable else { return answer.map { Durable(value: $0, replicas: nil) } }
        if self.onlineReplicas != nil {
            let wait = self.waitForReplicas(handler)
            return answer.and(wait).map { Durable(value: $0, replicas: $1) }
        }
        // INFO replication was sent before the write on this connection, so its reply arrives first.
        let (bound, handling) = (
            NIOLoopBound(self, eventLoop: self.link.eventLoop), NIOLoopBound(handler, eventLoop: self.link.eventLoop)
        )
        return answer.flatMap { value in
            bound.value.waitForReplicas(handling.value).map { Durable(value: value, replicas: $0) }
        }
    }

    /// - Returns: the same as `Durable.replicas`. Never fails: the write has succeeded even if no replica confirms it.
    private func waitForReplicas(_ handler: RedisChannelHandler) -> EventLoopFuture<Int?> {
        let needed = self.neededReplicas
        guard needed > 0 else { return self.link.eventLoop.makeSucceededFuture(nil) }
        let longest = self.link.timing.replication.nanoseconds / 1_000_000
        return handler.send(["WAIT", .integer(Int64(needed)), .integer(longest)]).map { answer -> Int? in
            let replicas = Int(answer.integer ?? 0)
            return replicas >= needed ? replicas : 0
        }.recover { _ in 0 }
    }
}
