// What part the node of a link plays in replication, looked at every second: another history (`master_replid`) or another
// role means that the master changed behind a connection that never broke. And writes that wait for a replica.

internal import NIOCore

/// Watches one link. Confined to its event loop.
final class ReplicationPart {
    private let link: RedisLink
    private var history: String?
    /// A node that had replicas and has none is asked to wait for one for so long: it may be the master that is being
    /// replaced, and what is written there is lost.
    static let replicaMemory = TimeAmount.seconds(60)
    private var replicas = 0
    /// When the node last had any.
    private var lastReplica: NIODeadline?
    private var lastLook = NIODeadline.uptimeNanoseconds(0)
    private var isLooking = false
    /// The node has another history than before, or is no master.
    var onChanged: (() -> Void)?

    init(link: RedisLink) {
        self.link = link
        link.onTick = { [weak self] now in self?.look(now) }
        let before = link.onUp
        link.onUp = { [weak self] handler in
            before?(handler)
            // A connection of its own has told its owner already that something may be missing.
            self?.history = nil
            self?.isLooking = false
            self?.lookNow()
        }
    }

    private func look(_ now: NIODeadline) {
        guard !self.isLooking, now - self.lastLook >= self.link.timing.monitor else { return }
        self.lookNow()
    }

    private func lookNow() {
        guard let handler = self.link.handler else { return }
        self.lastLook = .now()
        self.isLooking = true
        let bound = NIOLoopBound(self, eventLoop: self.link.eventLoop)
        handler.send(["INFO", "replication"]).whenComplete { result in
            bound.value.isLooking = false
            // Refused by an access list: then there is nothing to see.
            guard case .success(let answer) = result, let text = answer.text else { return }
            bound.value.saw(InfoFields(text))
        }
    }

    private func saw(_ fields: InfoFields) {
        self.replicas = fields["connected_slaves"].flatMap { Int($0) } ?? 0
        if self.replicas > 0 { self.lastReplica = .now() }
        let before = self.history
        self.history = fields["master_replid"]
        // A master gets a new name for its history, with none before it, when its first replica comes: that is no change.
        let isItsOwn = fields["master_replid2"]?.allSatisfy { $0 == "0" } ?? true
        guard fields["role"] == "master", before == nil || before == self.history || isItsOwn else {
            self.onChanged?()
            return
        }
    }

    // MARK: writes

    private var isReplicated: Bool {
        if self.replicas > 0 { return true }
        guard let lastReplica else { return false }
        return NIODeadline.now() - lastReplica < Self.replicaMemory
    }

    /// A durable write is followed by WAIT on the same connection, where there are replicas.
    func send(_ command: RedisCommand, isDurable: Bool) -> EventLoopFuture<Durable<RESPValue>> {
        guard let handler = self.link.handler else {
            return self.link.eventLoop.makeFailedFuture(RedisError.disconnected)
        }
        let answer = handler.send(command)
        guard isDurable, self.isReplicated else { return answer.map { Durable(value: $0, replicas: nil) } }
        let wait = handler.send(["WAIT", 1, .integer(self.link.timing.replication.nanoseconds / 1_000_000)])
        return answer.flatMap { value in
            // The write stands; that nobody answers for it is not its failure.
            wait.map { Int($0.integer ?? 0) }.recover { _ in 0 }.map { Durable(value: value, replicas: $0) }
        }
    }
}

/// `name:value` lines of INFO.
package struct InfoFields: Sendable {
    private var values: [Substring: Substring] = [:]

    package init(_ text: String) {
        for line in text.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            self.values[line[..<colon]] = line[line.index(after: colon)...]
        }
    }

    package subscript(name: String) -> String? { self.values[name[...]].map(String.init) }
}
