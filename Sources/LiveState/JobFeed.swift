// The live half of a job: whether a rider shares its position, and the last one.

package import EnrouteWire
package import NIOCore
package import Redis

/// Opening, closing and reading the feeds of jobs at the live instance. May be used from any thread.
package struct JobFeed: Sendable {
    private let live: RedisClient
    private let keyspace: Keyspace

    package init(live: RedisClient, settings: LiveStateSettings) {
        self.live = live
        self.keyspace = settings.keyspace
    }

    /// - Parameter again: only when the live instance knows nothing of the job, because it lost its memory.
    /// - Returns: whether positions may now be published; `false` when the deadline has passed.
    package func open(
        _ job: JobID, for rider: PersonID, until deadline: Int64, again: Bool = false
    ) -> EventLoopFuture<Bool> {
        self.live.evaluate(
            Scripts.openFeed, keys: self.keys(job),
            arguments: [
                .text(rider.text), .integer(deadline),
                .bytes(ServerMessage.tracking(job: job, .waiting, nil).encoded), again ? 1 : 0,
            ]
        ).flatMapThrowing { answer in
            guard let code = answer.array?.first?.integer else {
                throw RedisError.unexpectedAnswer(command: Scripts.openFeed.name)
            }
            return code > 0
        }
    }

    /// Ends a job's positions and tells its followers why.
    ///
    /// - Parameter rider: only when this rider shares; `nil` whoever does.
    package func close(_ job: JobID, of rider: PersonID? = nil, because reason: EndReason) -> EventLoopFuture<Closing> {
        self.live.evaluate(
            Scripts.closeFeed, keys: self.keys(job),
            arguments: [
                .text(rider?.text ?? ""), .bytes(ServerMessage.tracking(job: job, .ended, reason).encoded),
            ]
        ).flatMapThrowing { answer in
            guard let code = answer.array?.first?.integer else {
                throw RedisError.unexpectedAnswer(command: Scripts.closeFeed.name)
            }
            if code == -2 { return .otherRider }
            return .closed(erased: Int(answer.array?.dropFirst().first?.integer ?? 0))
        }
    }

    /// What became of a feed that was to be closed.
    package enum Closing: Sendable, Hashable {
        /// Nothing was closed: another rider shares for this job.
        case otherRider
        /// It is closed; so many keys held something and are empty or gone. 0 when it was closed before.
        case closed(erased: Int)
    }

    /// The feed at one moment.
    package struct State: Sendable, Hashable {
        package var isOpen: Bool
        /// The last position as it was published; only while the feed is open.
        package var position: [UInt8]?
    }

    package func read(_ job: JobID) -> EventLoopFuture<State> {
        self.live.send([
            "MGET", .text(self.keyspace.travel(of: job)), .text(self.keyspace.position(of: job)),
        ]).flatMapThrowing { answer in
            guard let values = answer.array, values.count == 2 else {
                throw RedisError.unexpectedAnswer(command: "MGET")
            }
            let isOpen = values[0].bytes?.isEmpty == false
            return State(isOpen: isOpen, position: isOpen ? values[1].bytes : nil)
        }
    }

    private func keys(_ job: JobID) -> [String] {
        [self.keyspace.travel(of: job), self.keyspace.position(of: job), self.keyspace.feed(of: job)]
    }
}

extension JobFeed.State: CustomReflectable {
    /// Without the bytes of the position, which would say where somebody is.
    package var customMirror: Mirror {
        Mirror(
            self, children: ["isOpen": self.isOpen, "position": self.position == nil ? "none" : "<a place>"],
            displayStyle: .struct)
    }
}
