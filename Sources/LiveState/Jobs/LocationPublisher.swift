// Publishes a location: chooses keys, channel and lifetime. The script decides whether the location is the newest.
//
// Step 5 of 10 of the hot path. Before: Realtime/Trips/TripValidators.swift
// Next: lua/publish_location.lua

package import EnrouteWire
internal import HotPath
package import NIOCore
package import Redis

/// Publishes locations in the live instance.
package struct LocationPublisher: Sendable {
    private let live: RedisClient
    private let keyspace: Keyspace
    /// ms
    private let lifetime: Int64

    package init(live: RedisClient, settings: LiveStateSettings) {
        self.live = live
        self.keyspace = settings.keyspace
        self.lifetime = settings.positionLifetime.milliseconds
    }

    /// The result of publishing a location.
    package enum Verdict: Sendable, Hashable {
        /// - Parameter listeners: subscribed connections that received it, one per gateway event loop with a follower; 0 when
        ///   the job has no follower.
        case accepted(id: UInt64, listeners: Int)
        /// Not newer than the stored position.
        case stale
        /// Captured more than 30 s in the future, by the clock of Redis.
        case future
        case travelModeOff
        /// The live instance has no entry for the job's travel mode: it was never on, or the entry was lost.
        case unknown
        /// The deadline for sharing has passed, ms since the epoch.
        case timeLimit(deadline: Int64)
        /// Another rider shares its position for this job.
        case otherRider
        /// Another device of this rider reports for this job.
        case otherDevice
    }

    /// Where the positions of one rider's device for one job are published: the constant part of the command, encoded
    /// once per trip. A class, because a struct's four strings would be copied three times per location.
    package final class Path: Sendable {
        package let job: JobID
        package let rider: PersonID
        package let reporter: Reporter
        fileprivate let prefix: CommandPrefix

        fileprivate init(job: JobID, rider: PersonID, reporter: Reporter, prefix: CommandPrefix) {
            (self.job, self.rider, self.reporter, self.prefix) = (job, rider, reporter, prefix)
        }
    }

    package func path(for job: JobID, by rider: PersonID, on reporter: Reporter) -> Path {
        Path(
            job: job, rider: rider, reporter: reporter,
            prefix: Scripts.publishLocation.prefix(
                keys: self.keys(of: job), arguments: [.text(rider.text), .text(reporter.text)], additional: 3))
    }

    private func keys(of job: JobID) -> [String] {
        [self.keyspace.travel(of: job), self.keyspace.position(of: job), self.keyspace.feed(of: job)]
    }

    /// Publishes a location without a future. Call it on the event loop of the client.
    ///
    /// - Parameter completion: called once, on the event loop, with the verdict or the error of Redis.
    package func publish(
        _ fix: Fix, on path: Path, receivedAt: Int64, _ completion: @escaping (Result<Verdict, any Error>) -> Void
    ) {
        HotPath.pass(.locationPublisher)
        let isSent = withUnsafeTemporaryAllocation(byteCount: PublishedLocation.maxTailBytes, alignment: 1) { room in
            let count = PublishedLocation.writeTail(of: fix, job: path.job, receivedAt: receivedAt, to: room)
            let tail = UnsafeRawBufferPointer(rebasing: room[..<count])
            return self.live.sendDirectly(
                path.prefix, most: CommandWriter.size(ofWord: 20) * 2 + CommandWriter.size(ofWord: count)
            ) { writer in
                writer.word(fix.at)
                writer.word(tail)
                writer.word(self.lifetime)
            } _: { reply in
                self.live.reportFailure(reply, of: self.keys(of: path.job), by: Scripts.publishLocation.name)
                switch reply {
                case .reply(let tape): completion(self.verdict(Reply(tape), of: path.job))
                // No node executed the command. The general path sends the script and follows redirections.
                case .failure(let error) where error.needsGeneralPath:
                    self.publishGenerally(fix, on: path, receivedAt: receivedAt, completion)
                case .failure(let error): completion(.failure(error))
                }
            }
        }
        // There is no connection; the general path reports why.
        if !isSent { self.publishGenerally(fix, on: path, receivedAt: receivedAt, completion) }
    }

    private func publishGenerally(
        _ fix: Fix, on path: Path, receivedAt: Int64, _ completion: @escaping (Result<Verdict, any Error>) -> Void
    ) {
        let bound = NIOLoopBound(completion, eventLoop: self.live.eventLoop)
        self.evaluate(fix, for: path.job, by: path.rider, on: path.reporter, receivedAt: receivedAt).whenComplete {
            bound.value($0)
        }
    }

    /// The reply of the script.
    private struct Reply {
        var code: Int64?
        var detail: Int64?
        /// Of an accepted position.
        var id: UInt64?
        /// The number of elements. A fourth element means that the replaced position was malformed.
        var count: Int

        /// - Parameter tape: read in place.
        init(_ tape: RESPTape) {
            (self.code, self.detail, self.count) = (tape.integer(0), tape.integer(1), tape.flatCount)
            if tape.isString(2) { tape.withBytes(2) { self.id = Self.number($0) } }
        }

        init(_ value: RESPValue) {
            let elements = value.array ?? []
            func integer(_ index: Int) -> Int64? { index < elements.count ? elements[index].integer : nil }
            (self.code, self.detail, self.count) = (integer(0), integer(1), elements.count)
            if elements.count > 2 { self.id = elements[2].bytes.flatMap { $0.withUnsafeBytes(Self.number) } }
        }

        /// At most 18 digits, which cannot overflow.
        private static func number(_ text: UnsafeRawBufferPointer) -> UInt64? {
            guard (1...18).contains(text.count) else { return nil }
            var number: UInt64 = 0
            for byte in text {
                guard case let digit = byte &- 48, digit < 10 else { return nil }
                number = number &* 10 &+ UInt64(digit)
            }
            return number
        }
    }

    private func verdict(_ reply: Reply, of job: JobID) -> Result<Verdict, any Error> {
        switch (reply.code, reply.detail) {
        case (1, let listeners?):
            guard let id = reply.id else { break }
            if reply.count == 4 {
                self.live.refuse(self.keyspace.position(of: job), by: Scripts.publishLocation.name)
            }
            return .success(.accepted(id: id, listeners: Int(clamping: listeners)))
        case (0, _): return .success(.stale)
        case (-1, _): return .success(.travelModeOff)
        case (-2, _): return .success(.otherRider)
        case (-3, _): return .success(.future)
        case (-4, _): return .success(.unknown)
        case (-5, let deadline?) where deadline.isTimestamp: return .success(.timeLimit(deadline: deadline))
        case (-6, _): return .success(.otherDevice)
        default: break
        }
        return .failure(self.live.refusal(of: self.keyspace.travel(of: job), by: Scripts.publishLocation.name))
    }

    /// Publishes a location, from any thread.
    ///
    /// - Throws: (in the future) `RedisError`.
    package func publish(
        _ fix: Fix, for job: JobID, by rider: PersonID, on reporter: Reporter = .requests, receivedAt: Int64
    ) -> EventLoopFuture<Verdict> {
        HotPath.pass(.locationPublisher)
        return self.evaluate(fix, for: job, by: rider, on: reporter, receivedAt: receivedAt)
    }

    private func evaluate(
        _ fix: Fix, for job: JobID, by rider: PersonID, on reporter: Reporter, receivedAt: Int64
    ) -> EventLoopFuture<Verdict> {
        self.live.evaluate(
            Scripts.publishLocation, keys: self.keys(of: job),
            arguments: [
                .text(rider.text), .text(reporter.text), .integer(fix.at),
                .bytes(PublishedLocation.tail(of: fix, job: job, receivedAt: receivedAt)), .integer(self.lifetime),
            ]
        ).flatMapThrowing { try self.verdict(Reply($0), of: job).get() }
    }
}
