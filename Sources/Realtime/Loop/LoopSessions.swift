// The sessions and connections of one event loop. A session closes by itself, to free memory, or because the gateway
// stops.

internal import EnrouteWire
package import NIOCore
internal import Telemetry
internal import TrafficControl

extension LoopState {
    func nextNumber() -> UInt64 {
        self.lastNumber += 1
        return self.lastNumber
    }

    package func add(_ session: Session) {
        self.sessions[session.number] = session
        if let retryIn = self.drainMilliseconds { session.goAway(retryInMilliseconds: .random(in: 0...retryIn)) }
    }

    /// Registers a session whose rider has reported locations, switched travel mode or set its availability. When the
    /// session ends, the loop publishes the rider's final state.
    package func add(_ rider: RiderSession, of session: Session) { self.riderSessions[session.number] = rider }

    package func remove(_ session: Session) {
        if self.sessions.removeValue(forKey: session.number) != nil, let role = session.role {
            self.sessionRoles[role, default: 0] -= 1
        }
        self.riderSessions.removeValue(forKey: session.number)?.sessionEnded()
        self.succeedWhenEmpty()
    }

    package func add(requestChannel channel: any Channel) {
        self.requestChannels[ObjectIdentifier(channel)] = channel
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        channel.closeFuture.whenComplete { _ in bound.value.remove(requestChannel: channel) }
    }

    /// A session's client has signed in.
    func signedIn(_ session: Session, as role: SessionRole) {
        session.role = role
        self.sessionRoles[role, default: 0] += 1
    }

    package func remove(requestChannel channel: any Channel) {
        guard self.requestChannels.removeValue(forKey: ObjectIdentifier(channel)) != nil else { return }
        self.succeedWhenEmpty()
    }

    private func succeedWhenEmpty() {
        if self.sessions.isEmpty, self.requestChannels.isEmpty { self.whenEmpty?.succeed() }
    }

    // MARK: closing

    /// Asks every session to reconnect elsewhere, each after a random time within `milliseconds`, and then closes it.
    /// Requests in progress are completed, and no others are accepted. Succeeds when all connections are closed.
    package func drain(milliseconds: Int64) -> EventLoopFuture<Void> {
        self.drainMilliseconds = max(1, milliseconds)
        guard !self.sessions.isEmpty || !self.requestChannels.isEmpty else { return self.trail.flushed() }
        let promise = self.whenEmpty ?? self.eventLoop.makePromise(of: Void.self)
        self.whenEmpty = promise
        for session in self.sessions.values {
            session.goAway(retryInMilliseconds: .random(in: 0...max(1, milliseconds)))
        }
        for channel in self.requestChannels.values {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
        // The closing sessions are also recorded in the audit trail.
        let bound = NIOLoopBound(self.trail, eventLoop: self.eventLoop)
        return promise.futureResult.flatMap { bound.value.flushed() }
    }

    /// Closes the sessions that are still open at the end of the drain time.
    package func closeSessions() {
        for session in self.sessions.values { session.close(.goingAway, "going away") }
    }

    /// The number of connections, with and without a session.
    package var openConnections: Int { self.sessions.count + self.requestChannels.count }

    /// Closes idle sessions to free memory, newest first.
    ///
    /// - Parameter percent: the share of the loop's sessions to close; at least one session is closed.
    package func shed(percent: Int) {
        let most = max(1, self.sessions.count * percent / 100)
        let idleTicks = UInt64(self.settings.overload.idleSeconds) * 10
        let newest = self.sessions.values.filter { $0.isOpen && self.ticks - $0.lastActive >= idleTicks }.sorted {
            $0.number > $1.number
        }.prefix(most)
        for session in newest {
            self.counts.add(.sessionsShed)
            session.shed(retryInMilliseconds: .random(in: Self.shedRetryMilliseconds))
        }
    }

    /// When clients of shed sessions may reconnect.
    static let shedRetryMilliseconds: ClosedRange<Int64> = 5_000...30_000
}
