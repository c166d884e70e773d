// What part the node of a link plays in replication, looked at every second: another history (`master_replid`) or another
// role means that the master changed behind a connection that never broke. And writes that wait for replicas.

internal import NIOCore

/// Watches one link. Confined to its event loop.
final class ReplicationPart {
    private let link: RedisLink
    private var history: String?
    /// Of all masters that this link has led to: a node without replicas may be the one that is being replaced, or the new
    /// one that the others have not found yet.
    private var replicas = RecentReplicas()
    /// The node of this connection has said how many replicas it has.
    private var isKnown = false
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
            self?.isKnown = false
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
        self.replicas.saw(fields.onlineReplicas, now: .now())
        self.isKnown = true
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

    private var neededReplicas: Int { self.link.timing.quorum.needed(of: self.replicas.most(now: .now())) }

    /// A durable write is followed by WAIT on the same connection, where there are replicas.
    func send(_ command: RedisCommand, isDurable: Bool) -> EventLoopFuture<Durable<RESPValue>> {
        guard let handler = self.link.handler else {
            return self.link.eventLoop.makeFailedFuture(RedisError.disconnected)
        }
        let answer = handler.send(command)
        guard isDurable else { return answer.map { Durable(value: $0, replicas: nil) } }
        if self.isKnown {
            let wait = self.waitForReplicas(handler)
            return answer.and(wait).map { Durable(value: $0, replicas: $1) }
        }
        // The question about replicas went out before the write on this connection, so it is answered by then.
        let (bound, handling) = (
            NIOLoopBound(self, eventLoop: self.link.eventLoop), NIOLoopBound(handler, eventLoop: self.link.eventLoop)
        )
        return answer.flatMap { value in
            bound.value.waitForReplicas(handling.value).map { Durable(value: value, replicas: $0) }
        }
    }

    /// - Returns: as `Durable.replicas`. Never fails: the write stands, and that nobody answers for it is not its failure.
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

/// `name:value` lines of INFO.
package struct InfoFields: Sendable {
    private var values: [Substring: Substring] = [:]

    package init(_ text: String) {
        for line in text.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            self.values[line[..<colon]] = line[line.index(after: colon)...]
        }
    }

    /// Replicas that are sent what is written; not those that wait for their first copy, which WAIT does not count either.
    var onlineReplicas: Int {
        let listed = self.values.filter { $0.key.hasPrefix("slave") && $0.key.dropFirst(5).allSatisfy(\.isNumber) }
        return listed.count { $0.value.contains("state=online") }
    }

    package subscript(name: String) -> String? { self.values[name[...]].map(String.init) }
}
