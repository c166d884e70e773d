// Whether riders are there. A heartbeat counts for `riderReach`; who is silent longer leaves the pool and stays online, as it
// declared; who is silent for `riderSilence` and has no task is set offline. The script looks again before it decides, so
// any number of gateways may sweep at once.

package import EnrouteWire
package import NIOCore
internal import Redis

extension Riders {
    package enum Heartbeat: Sendable, Hashable {
        /// `isNews`: it was unreachable before, or has another device now.
        case heard(version: Int64, isNews: Bool)
        case noSuchRider
        /// It declared that it does not work; nothing is changed.
        case offline
        /// Another device is the rider's: this one was not counted.
        case otherDevice(DeviceID)
    }

    /// A rider is there. Not durable: the next one says the same.
    ///
    /// - Parameters:
    ///   - device: `nil` when it is not known, which is the rider's then.
    ///   - takesOver: the device has just signed in, and is the rider's from now on.
    package func heartbeat(
        of rider: PersonID, in zone: ZoneID, device: DeviceID? = nil, takesOver: Bool = false
    ) -> EventLoopFuture<Heartbeat> {
        self.ledger.evaluate(
            Scripts.riderHeartbeat, keys: self.keys(rider, zone) + [self.keyspace.due(in: zone)],
            arguments: [
                .text(zone.text), .text(rider.text), .text(device?.text ?? ""), takesOver ? 1 : 0, self.reach,
            ]
        ).flatMapThrowing { answer in
            let reply = Reply(answer)
            switch (reply?.code, reply?.version) {
            case (1, let version?): return .heard(version: version, isNews: false)
            case (2, let version?): return .heard(version: version, isNews: true)
            case (0, _): return .noSuchRider
            case (-1, _): return .offline
            case (-2, _):
                guard let device = reply?.words.first.flatMap({ DeviceID($0) }) else { break }
                return .otherDevice(device)
            default: break
            }
            throw self.ledger.refusal(of: self.keyspace.rider(rider, in: zone), by: Scripts.riderHeartbeat.name)
        }
    }

    package enum Expiry: Sendable, Hashable {
        /// It was heard from, or is not online, or another gateway was first.
        case nothing
        case unreachable(version: Int64)
        /// Somebody has to look after these.
        case unreachableWithTasks([JobID], version: Int64)
        /// It was silent for `riderSilence`, without a task.
        case offline(version: Int64)
    }

    /// Looks whether a rider is still there. Safe to repeat.
    package func expire(_ rider: PersonID, in zone: ZoneID) -> EventLoopFuture<Expiry> {
        let silence = max(self.settings.riderReach, self.settings.riderSilence)
        return self.ledger.evaluate(
            Scripts.expireRider, keys: self.keys(rider, zone) + [self.keyspace.due(in: zone)],
            arguments: [.text(zone.text), .text(rider.text), self.reach, .integer(silence.milliseconds)]
        ).flatMapThrowing { answer in
            let reply = Reply(answer)
            switch (reply?.code, reply?.version) {
            case (0, _): return .nothing
            case (1, let version?): return .unreachable(version: version)
            case (2, let version?):
                return .unreachableWithTasks(
                    (reply?.words ?? []).dropFirst().compactMap { JobID($0) }, version: version)
            case (3, let version?): return .offline(version: version)
            default: throw self.ledger.refusal(of: self.keyspace.rider(rider, in: zone), by: Scripts.expireRider.name)
            }
        }
    }

    /// Riders that one sweep looks at, at most.
    package static let sweepBatch = 100

    /// Looks at the riders of a zone that are due, the longest due first: at most `sweepBatch`, to be called again soon when it
    /// were so many. Any number of gateways may do so at once.
    ///
    /// - Returns: each rider that was due, and what became of it.
    package func sweep(_ zone: ZoneID) -> EventLoopFuture<[(rider: PersonID, expiry: Expiry)]> {
        self.ledger.send(["TIME"]).flatMap { answer in
            let time = (answer.array ?? []).compactMap(\.text).compactMap { $0.second }
            let now = time.count == 2 ? time[0] * 1000 + time[1] / 1000 : 0
            return self.ledger.send([
                "ZRANGEBYSCORE", .text(self.keyspace.due(in: zone)), "-inf", .integer(now), "LIMIT", 0,
                .integer(Self.sweepBatch),
            ])
        }.flatMap { answer in
            let riders: [PersonID] = self.ledger.names(
                answer, of: self.keyspace.due(in: zone), by: "ZRANGEBYSCORE")
            let looks = riders.map { rider in self.expire(rider, in: zone).map { (rider: rider, expiry: $0) } }
            return EventLoopFuture.whenAllSucceed(looks, on: self.eventLoop)
        }
    }
}
