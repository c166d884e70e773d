// Reads the data that shows whether the followers of a job are up to date, every few seconds for every followed job.
// Most of the data does not change, so a reply is compared with the previous one before anything is decoded.

package import EnrouteWire
internal import Redis

/// Reads one job repeatedly. Confined to the event loop of the clients.
package final class JobCheckReader {
    /// What was read.
    package struct Reading {
        package var head: JobLedger.Head
        package var travel: JobFeed.Travel?
        /// The last position as it was published, and its id; only while travel mode is on.
        package var position: (id: UInt64, message: [UInt8])?
    }

    package let job: JobID
    private let ledger: JobLedger
    private let feed: JobFeed
    private var lastHead: (reply: RESPTape.Copy, value: JobLedger.Head?)?
    private var lastTravel: (text: [UInt8], value: JobFeed.Travel)?
    /// The newest position that every follower had been sent at the last check; 0 if one had none.
    private var shownPosition: UInt64 = 0

    /// Whether the ledger's last reply was the same as the one before.
    private var isHeadUnchanged = false

    /// The halves of the read that is under way.
    private var head: Result<JobLedger.Head?, any Error>?
    private var live: Result<(travel: JobFeed.Travel?, position: (id: UInt64, message: [UInt8])?), any Error>?
    private var completion: ((Result<Reading?, any Error>) -> Void)?

    package init(_ job: JobID, ledger: JobLedger, feed: JobFeed) {
        (self.job, self.ledger, self.feed) = (job, ledger, feed)
    }

    /// Reads the ledger, and the live instance unless that is unnecessary. It is unnecessary if the ledger's reply has
    /// not changed and every follower has been sent a newer position since the last check, because then the feed works
    /// and is open.
    ///
    /// - Parameters:
    ///   - shown: the newest position that every follower has been sent; 0 if one of them has none or may not see it.
    ///   - completion: called once with `nil` when there is no such job, or with the error of Redis.
    /// - Returns: `false` if nothing was sent, because a read is under way or an instance is not connected. Then
    ///   `completion` is not called.
    package func read(
        shown: UInt64 = 0, _ completion: @escaping (Result<Reading?, any Error>) -> Void
    ) -> Bool {
        guard self.completion == nil else { return false }
        let isFeedKnown = shown > self.shownPosition && self.lastTravel?.value.rider != nil
        (self.head, self.live, self.shownPosition) = (nil, nil, shown)
        let isSent = self.ledger.sendHeadQuery(self.job) { [self] reply in
            self.head = self.readHead(reply)
            if isFeedKnown {
                guard self.isHeadUnchanged else { return self.readFeed() }
                self.live = .success((self.lastTravel?.value, nil))
            }
            self.finishIfComplete()
        }
        guard isSent else { return false }
        self.completion = completion
        if !isFeedKnown { self.readFeed() }
        return true
    }

    private func readFeed() {
        let isLiveSent = self.feed.sendQuery(self.job) { [self] reply in
            self.live = self.readLive(reply)
            self.finishIfComplete()
        }
        guard !isLiveSent else { return }
        self.live = .failure(self.feed.reportDisconnected(self.job))
        self.finishIfComplete()
    }

    private func finishIfComplete() {
        guard let head, let live, let completion else { return }
        self.completion = nil
        completion(
            Result {
                let (head, live) = (try head.get(), try live.get())
                return head.map { Reading(head: $0, travel: live.travel, position: live.position) }
            })
    }

    private func readHead(_ reply: DirectReply) -> Result<JobLedger.Head?, any Error> {
        self.isHeadUnchanged = false
        switch reply {
        case .failure(let error): return .failure(error)
        case .reply(let tape):
            if let lastHead, tape.equals(lastHead.reply) {
                self.isHeadUnchanged = true
                return .success(lastHead.value)
            }
            return Result {
                let head = try self.ledger.head(tape.value, of: self.job)
                self.lastHead = (tape.copy, head)
                return head
            }
        }
    }

    private func readLive(
        _ reply: DirectReply
    ) -> Result<(travel: JobFeed.Travel?, position: (id: UInt64, message: [UInt8])?), any Error> {
        switch reply {
        case .failure(let error): return .failure(error)
        case .reply(let tape):
            guard tape.flatCount == 2 else { return .failure(RedisError.unexpectedAnswer(command: "MGET")) }
            guard tape.isString(0) else { return .success((nil, nil)) }
            let travel: JobFeed.Travel?
            var text: [UInt8] = []
            tape.withBytes(0) { text = Array($0) }
            if let lastTravel, text == lastTravel.text {
                travel = lastTravel.value
            } else {
                travel = self.feed.travel(.string(text), of: self.job)
                self.lastTravel = travel.map { (text, $0) }
            }
            guard travel?.rider != nil, tape.isString(1) else { return .success((travel, nil)) }
            var position: (id: UInt64, message: [UInt8])?
            tape.withBytes(1) { bytes in
                position = PublishedLocation.read(bytes, of: self.job).map { ($0.id, Array(bytes)) }
            }
            if position == nil { self.feed.refusePosition(of: self.job) }
            // A position that followers receive from this read does not show that the feed works.
            self.shownPosition = max(self.shownPosition, position?.id ?? 0)
            return .success((travel, position))
        }
    }
}
