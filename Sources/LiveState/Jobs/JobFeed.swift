// What the live instance stores about a job: whether a rider shares its position, and the last position.

package import EnrouteWire
package import NIOCore
package import Redis

/// Opens, closes and reads the feeds of jobs at the live instance. Safe to use from any thread.
package struct JobFeed: Sendable {
    let live: RedisClient
    let keyspace: Keyspace

    package init(live: RedisClient, settings: LiveStateSettings) {
        self.live = live
        self.keyspace = settings.keyspace
    }

    package enum Opening: Sendable, Hashable {
        /// Positions may be published.
        case open
        case deadlinePassed
        /// The job was assigned to another rider, or there is an entry although none was expected.
        case overtaken
    }

    /// What to do if the job already has an entry.
    package enum OpeningMode: String, Sendable {
        /// The device takes over from the one that reports.
        case takeOver = ""
        /// Among devices without a name, the one that reports continues.
        case resume
        /// The feed is opened only if the live instance has no entry, after it lost its data.
        case ifAbsent = "if_absent"
    }

    /// Opens the feed of a job for a rider. Safe to repeat.
    ///
    /// - Parameters:
    ///   - reporter: the device whose positions are published; `nil` for the first that reports.
    ///   - fence: of the decision, from `JobLedger.startTravel`.
    package func open(
        _ job: JobID, for rider: PersonID, on reporter: Reporter? = nil, until deadline: Int64, fence: Int64,
        _ mode: OpeningMode = .takeOver
    ) -> EventLoopFuture<Opening> {
        self.live.evaluate(
            Scripts.openFeed, keys: self.keys(job),
            arguments: [
                .text(rider.text), .integer(deadline),
                .bytes(ServerMessage.tracking(job: job, .waiting, nil).encoded), .text(mode.rawValue),
                .integer(fence), .text(reporter?.text ?? ""),
            ]
        ).flatMapThrowing { answer in
            guard let code = answer.array?.first?.integer else {
                throw RedisError.unexpectedAnswer(command: Scripts.openFeed.name)
            }
            if code == 3 { self.live.refuse(self.keyspace.travel(of: job), by: Scripts.openFeed.name) }
            return code > 0 ? .open : code == 0 ? .deadlinePassed : .overtaken
        }
    }

    /// Lets another device of the rider report for the job, because the connection of this nameless one has closed. The
    /// caller does not wait: if this fails, another device may continue once this one has been silent for 30 s.
    package func release(_ job: JobID, by rider: PersonID, on reporter: Reporter) {
        _ = self.live.evaluate(
            Scripts.releaseFeed, keys: [self.keyspace.travel(of: job)],
            arguments: [.text(rider.text), .text(reporter.text)])
    }

    /// Deletes the arrival time and its lease after the destination changed, so it is calculated again immediately.
    package func forgetArrival(_ job: JobID) -> EventLoopFuture<Void> {
        let keys = [self.keyspace.eta(of: job), self.keyspace.etaLease(of: job)]
        let sent = keys.map { self.live.send(["DEL", .text($0)]).map { _ in } }
        return EventLoopFuture.andAllSucceed(sent, on: self.live.eventLoop)
    }

    /// Stops a job's positions and notifies its followers of the reason.
    ///
    /// - Parameters:
    ///   - rider: closes the feed only if this rider shares its position; `nil` for any rider, and for a lost feed.
    ///   - fence: decisions below it can no longer open the feed; `nil` to keep the stored fence.
    package func close(
        _ job: JobID, of rider: PersonID? = nil, because reason: EndReason, fence: Int64? = nil, endsJob: Bool = false
    ) -> EventLoopFuture<Closing> {
        self.close(job, rider, reason, fence, deadline: nil, endsJob: endsJob)
    }

    /// Stops a job's positions, unless a decision later than `fence` has opened the feed.
    package func close(_ job: JobID, because reason: EndReason, notLaterThan fence: Int64) -> EventLoopFuture<Closing> {
        self.close(job, nil, reason, fence, deadline: nil, isNotLater: true)
    }

    /// Stops a job's positions when its deadline has passed by the clock of Redis. Safe to repeat, from any gateway.
    ///
    /// - Parameter deadline: a feed with another deadline is left unchanged.
    package func close(_ job: JobID, atLimit deadline: Int64) -> EventLoopFuture<Closing> {
        self.close(job, nil, .timeLimit, nil, deadline: deadline)
    }

    private func close(
        _ job: JobID, _ rider: PersonID?, _ reason: EndReason, _ fence: Int64?, deadline: Int64?,
        endsJob: Bool = false, isNotLater: Bool = false
    ) -> EventLoopFuture<Closing> {
        self.live.evaluate(
            Scripts.closeFeed,
            keys: self.keys(job) + [self.keyspace.eta(of: job), self.keyspace.verdicts(of: job)],
            arguments: [
                .text(rider?.text ?? ""), .bytes(ServerMessage.tracking(job: job, reason.tracking, reason).encoded),
                .text(fence.map(String.init) ?? ""), .text(deadline.map(String.init) ?? ""),
                reason.endsJob || endsJob ? 1 : 0, isNotLater ? 1 : 0, reason == .reassigned ? 1 : 0,
            ]
        ).flatMapThrowing { answer in
            guard let parts = answer.array, let code = parts.first?.integer else {
                throw RedisError.unexpectedAnswer(command: Scripts.closeFeed.name)
            }
            let detail = parts.dropFirst().first?.integer ?? 0
            switch code {
            case -2: return .otherRider
            case -4: return .overtaken
            case -3:
                guard detail.isTimestamp, let deadline else { break }
                return .early(milliseconds: max(1, deadline - detail))
            default: return .closed(erased: Int(clamping: detail))
            }
            throw RedisError.unexpectedAnswer(command: Scripts.closeFeed.name)
        }
    }

    /// The result of closing a feed.
    package enum Closing: Sendable, Hashable {
        /// Nothing was closed, because another rider shares its position for this job.
        case otherRider
        /// Nothing was closed, because a later decision has opened the feed.
        case overtaken
        /// Nothing was closed, because the deadline passes only after this time.
        case early(milliseconds: Int64)
        /// The feed is closed, and this many keys were cleared; 0 when it was already closed.
        case closed(erased: Int)
    }

    package func read(_ job: JobID) -> EventLoopFuture<State> {
        self.live.send([
            "MGET", .text(self.keyspace.travel(of: job)), .text(self.keyspace.position(of: job)),
            .text(self.keyspace.eta(of: job)),
        ]).flatMapThrowing { answer in
            guard let values = answer.array, values.count == 3 else {
                throw RedisError.unexpectedAnswer(command: "MGET")
            }
            let travel = self.travel(values[0], of: job)
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
            let stored = self.live.value(values[2], of: self.keyspace.eta(of: job), by: "MGET") { value in
                value.bytes.flatMap { ETAStore.StoredEstimate($0, of: job) }
            }
            return State(
                rider: rider, deadline: travel.deadline, position: position,
                eta: stored.flatMap { $0.fence == travel.fence ? $0.estimate : nil })
        }
    }

    /// Requests travel mode and the last position without a future; see `RedisClient.sendDirectly`.
    func sendQuery(_ job: JobID, _ completion: @escaping (DirectReply) -> Void) -> Bool {
        let (travel, position) = (self.keyspace.travel(of: job), self.keyspace.position(of: job))
        return self.live.sendDirectly(
            key: travel, words: 3, most: 3 * CommandWriter.size(ofWord: position.utf8.count)
        ) { writer in
            writer.word("MGET")
            writer.word(travel)
            writer.word(position)
        } _: { reply in
            self.live.reportFailure(reply, of: [travel, position], by: "MGET")
            completion(reply)
        }
    }

    /// Reports that the query above could not be sent, and returns the error.
    func reportDisconnected(_ job: JobID) -> RedisError {
        self.live.reportFailure(.failure(.disconnected), of: [self.keyspace.travel(of: job)], by: "MGET")
        return .disconnected
    }

    /// Reads the value of the travel key. A malformed one is reported, and counts as missing.
    func travel(_ value: RESPValue, of job: JobID) -> Travel? {
        self.live.value(value, of: self.keyspace.travel(of: job), by: "MGET", Travel.init)
    }

    /// Reports a malformed position.
    func refusePosition(of job: JobID) { self.live.refuse(self.keyspace.position(of: job), by: "MGET") }

    private func keys(_ job: JobID) -> [String] {
        [self.keyspace.travel(of: job), self.keyspace.position(of: job), self.keyspace.feed(of: job)]
    }
}

extension EndReason {
    /// The job itself has ended, not only its positions.
    fileprivate var endsJob: Bool { self == .completed || self == .cancelled }
}
