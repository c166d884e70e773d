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

    package enum Opening: Sendable, Hashable {
        /// Positions may be published.
        case open
        case deadlinePassed
        /// The job was given to somebody else, or something is known where nothing was expected to be.
        case overtaken
    }

    /// - Parameters:
    ///   - fence: of the decision, from `JobLedger.startTravel`.
    ///   - ifAbsent: opens the feed only if the live instance has no entry for the job, after it lost its data.
    package func open(
        _ job: JobID, for rider: PersonID, until deadline: Int64, fence: Int64, ifAbsent: Bool = false
    ) -> EventLoopFuture<Opening> {
        self.live.evaluate(
            Scripts.openFeed, keys: self.keys(job),
            arguments: [
                .text(rider.text), .integer(deadline),
                .bytes(ServerMessage.tracking(job: job, .waiting, nil).encoded), ifAbsent ? 1 : 0,
                .integer(fence),
            ]
        ).flatMapThrowing { answer in
            guard let code = answer.array?.first?.integer else {
                throw RedisError.unexpectedAnswer(command: Scripts.openFeed.name)
            }
            if code == 3 { self.live.refuse(self.keyspace.travel(of: job), by: Scripts.openFeed.name) }
            return code > 0 ? .open : code == 0 ? .deadlinePassed : .overtaken
        }
    }

    /// The job ends elsewhere: what was found of its arrival is not true of that, and is to be found anew at once.
    package func forgetArrival(_ job: JobID) -> EventLoopFuture<Void> {
        let keys = [self.keyspace.eta(of: job), self.keyspace.etaLease(of: job)]
        let sent = keys.map { self.live.send(["DEL", .text($0)]).map { _ in } }
        return EventLoopFuture.andAllSucceed(sent, on: self.live.eventLoop)
    }

    /// Ends a job's positions and tells its followers why.
    ///
    /// - Parameters:
    ///   - rider: only when this rider shares; `nil` whoever does.
    ///   - fence: no earlier decision opens it again; `nil` leaves that as it is.
    package func close(
        _ job: JobID, of rider: PersonID? = nil, because reason: EndReason, fence: Int64? = nil
    ) -> EventLoopFuture<Closing> {
        self.close(job, rider, reason, fence, deadline: nil)
    }

    /// Ends a job's positions when their time is over, by the clock of Redis. Safe to repeat, from anywhere.
    ///
    /// - Parameter deadline: a feed with another one is left as it is.
    package func close(_ job: JobID, atLimit deadline: Int64) -> EventLoopFuture<Closing> {
        self.close(job, nil, .timeLimit, nil, deadline: deadline)
    }

    private func close(
        _ job: JobID, _ rider: PersonID?, _ reason: EndReason, _ fence: Int64?, deadline: Int64?
    ) -> EventLoopFuture<Closing> {
        self.live.evaluate(
            Scripts.closeFeed,
            keys: self.keys(job) + [self.keyspace.eta(of: job), self.keyspace.verdicts(of: job)],
            arguments: [
                .text(rider?.text ?? ""), .bytes(ServerMessage.tracking(job: job, reason.tracking, reason).encoded),
                .text(fence.map(String.init) ?? ""), .text(deadline.map(String.init) ?? ""), reason.endsJob ? 1 : 0,
            ]
        ).flatMapThrowing { answer in
            guard let parts = answer.array, let code = parts.first?.integer else {
                throw RedisError.unexpectedAnswer(command: Scripts.closeFeed.name)
            }
            let detail = parts.dropFirst().first?.integer ?? 0
            switch code {
            case -2: return .otherRider
            case -3:
                guard detail.isMoment, let deadline else { break }
                return .early(milliseconds: max(1, deadline - detail))
            default: return .closed(erased: Int(clamping: detail))
            }
            throw RedisError.unexpectedAnswer(command: Scripts.closeFeed.name)
        }
    }

    /// What became of a feed that was to be closed.
    package enum Closing: Sendable, Hashable {
        /// Nothing was closed: another rider shares for this job.
        case otherRider
        /// Nothing was closed: its time is over only then.
        case early(milliseconds: Int64)
        /// It is closed; so many keys held something and are empty or gone. 0 when it was closed before.
        case closed(erased: Int)
    }

    /// The feed at one moment.
    package struct State: Sendable, Hashable {
        /// Who shares its position; `nil` while the feed is closed.
        package var rider: PersonID?
        /// Until when, ms since the epoch.
        package var deadline: Int64?
        /// The last position as it was published; only while the feed is open.
        package var position: [UInt8]?
        /// What was last found of the rider's arrival; only while the feed is open.
        package var eta: ArrivalEstimate?

        package var isOpen: Bool { self.rider != nil }
        /// It was open, and was closed: that is known, where nothing is known of a feed that was forgotten.
        package var isClosed = false

        package init(
            rider: PersonID? = nil, deadline: Int64? = nil, position: [UInt8]? = nil, eta: ArrivalEstimate? = nil
        ) {
            self.rider = rider
            self.deadline = deadline
            self.position = position
            self.eta = eta
        }
    }

    package func read(_ job: JobID) -> EventLoopFuture<State> {
        self.live.send([
            "MGET", .text(self.keyspace.travel(of: job)), .text(self.keyspace.position(of: job)),
            .text(self.keyspace.eta(of: job)),
        ]).flatMapThrowing { answer in
            guard let values = answer.array, values.count == 3 else {
                throw RedisError.unexpectedAnswer(command: "MGET")
            }
            let travel = self.live.value(values[0], of: self.keyspace.travel(of: job), by: "MGET", Travel.init)
            guard let travel, let rider = travel.rider else {
                var state = State()
                state.isClosed = travel != nil
                return state
            }
            let position = self.live.value(values[1], of: self.keyspace.position(of: job), by: "MGET") { value in
                value.bytes.flatMap { bytes in
                    bytes.withUnsafeBytes { PublishedLocation.read($0, of: job) } == nil ? nil : bytes
                }
            }
            let kept = self.live.value(values[2], of: self.keyspace.eta(of: job), by: "MGET") { value in
                value.bytes.flatMap { JobArrivals.Kept($0, of: job) }
            }
            return State(
                rider: rider, deadline: travel.deadline, position: position,
                eta: kept.flatMap { $0.fence == travel.fence ? $0.estimate : nil })
        }
    }

    /// `<fence> <deadline> <rider>`, as open_feed and close_feed write it.
    private struct Travel {
        let fence: Int64
        /// ms since the epoch
        let deadline: Int64
        /// `nil` once it was switched off.
        let rider: PersonID?

        init?(_ value: RESPValue) {
            let words = value.text?.split(separator: " ", omittingEmptySubsequences: false) ?? []
            guard words.count == 3, let fence = words[0].fence, let deadline = words[1].moment,
                let rider = optional(String(words[2]), { PersonID($0) })
            else { return nil }
            (self.fence, self.deadline, self.rider) = (fence, deadline, rider)
        }
    }

    private func keys(_ job: JobID) -> [String] {
        [self.keyspace.travel(of: job), self.keyspace.position(of: job), self.keyspace.feed(of: job)]
    }
}

extension EndReason {
    /// The job itself is over, not only its positions.
    fileprivate var endsJob: Bool { self == .completed || self == .cancelled }
}

extension JobFeed.State: CustomReflectable {
    /// Without the bytes of the position, which would say where somebody is.
    package var customMirror: Mirror {
        Mirror(
            self, children: ["rider": self.rider as Any, "position": self.position == nil ? "none" : "<a place>"],
            displayStyle: .struct)
    }
}
