// Whether riders are reachable. A heartbeat is valid for `heartbeatTimeout`. After that a rider leaves the pool but
// stays online, as it declared. After `autoOfflineDelay`, a rider without a task is set offline. The script checks the
// state again before it decides, so any number of gateways may sweep at the same time.

package import EnrouteWire
package import NIOCore
internal import Redis

extension Riders {
    package enum Heartbeat: Sendable, Hashable {
        /// `isChanged`: the rider was unreachable before, or has another device now.
        case recorded(version: Int64, isChanged: Bool)
        case noSuchRider
        /// The rider is offline; nothing was changed.
        case offline
        /// The rider uses this other device, so the heartbeat was not recorded.
        case otherDevice(DeviceID)
    }

    /// Records a heartbeat. Not durable, because the next heartbeat repeats it.
    ///
    /// - Parameters:
    ///   - device: `nil` when unknown, which counts as the rider's device.
    ///   - takesOver: the device has just signed in and becomes the rider's device.
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
            case (1, let version?): return .recorded(version: version, isChanged: false)
            case (2, let version?): return .recorded(version: version, isChanged: true)
            case (0, _): return .noSuchRider
            case (-1, _): return .offline
            case (-2, _):
                guard let device = reply?.fields.first.flatMap({ DeviceID($0) }) else { break }
                return .otherDevice(device)
            default: break
            }
            throw self.ledger.refusal(of: self.keyspace.rider(rider, in: zone), by: Scripts.riderHeartbeat.name)
        }
    }

    /// The heartbeats of one rider in one zone, encoded once: a gateway sends the same bytes every 30 s.
    package struct HeartbeatCommand: Sendable {
        package let zone: ZoneID
        package let device: DeviceID?
        fileprivate let prefix: CommandPrefix
        fileprivate let key: String
    }

    package func heartbeatCommand(of rider: PersonID, in zone: ZoneID, device: DeviceID?) -> HeartbeatCommand {
        HeartbeatCommand(
            zone: zone, device: device,
            prefix: Scripts.riderHeartbeat.prefix(
                keys: self.keys(rider, zone) + [self.keyspace.due(in: zone)],
                arguments: [.text(zone.text), .text(rider.text), .text(device?.text ?? ""), 0, self.reach],
                additional: 0),
            key: self.keyspace.rider(rider, in: zone))
    }

    /// The outcome of `repeatHeartbeat`.
    package enum RepeatedHeartbeat: Sendable, Hashable {
        /// Recorded, and nothing else changed.
        case recorded
        /// Something has changed, or the command must be sent in another way. `heartbeat` finds out which.
        case isUnusual
        /// Redis did not answer.
        case failed
    }

    /// Sends a heartbeat without a future. Call it on the event loop of the client.
    ///
    /// - Parameter completion: called once, on the event loop.
    /// - Returns: `false` if nothing was sent. Then `completion` is not called.
    package func repeatHeartbeat(
        _ command: HeartbeatCommand, _ completion: @escaping (RepeatedHeartbeat) -> Void
    ) -> Bool {
        self.ledger.sendDirectly(command.prefix, most: 0) { _ in
        } _: { reply in
            self.ledger.reportFailure(reply, of: [command.key], by: Scripts.riderHeartbeat.name)
            switch reply {
            case .reply(let tape): completion(tape.integer(0) == 1 ? .recorded : .isUnusual)
            case .failure(let error): completion(error.needsGeneralPath ? .isUnusual : .failed)
            }
        }
    }

    package enum Expiry: Sendable, Hashable {
        /// The rider sent a heartbeat in time or is not online, or another gateway was first.
        case unchanged
        case unreachable(version: Int64)
        /// Staff have to take care of these tasks.
        case unreachableWithTasks([JobID], version: Int64)
        /// The rider was silent for `autoOfflineDelay` and had no task.
        case offline(version: Int64)
    }

    /// Checks whether a rider is still reachable. Safe to repeat.
    package func expire(_ rider: PersonID, in zone: ZoneID) -> EventLoopFuture<Expiry> {
        let silence = max(self.settings.heartbeatTimeout, self.settings.autoOfflineDelay)
        return self.ledger.evaluate(
            Scripts.expireRider, keys: self.keys(rider, zone) + [self.keyspace.due(in: zone)],
            arguments: [.text(zone.text), .text(rider.text), self.reach, .integer(silence.milliseconds)]
        ).flatMapThrowing { answer in
            let reply = Reply(answer)
            switch (reply?.code, reply?.version) {
            case (0, _): return .unchanged
            case (1, let version?): return .unreachable(version: version)
            case (2, let version?):
                return .unreachableWithTasks(
                    (reply?.fields ?? []).dropFirst().compactMap { JobID($0) }, version: version)
            case (3, let version?): return .offline(version: version)
            default: throw self.ledger.refusal(of: self.keyspace.rider(rider, in: zone), by: Scripts.expireRider.name)
            }
        }
    }

    /// Maximum number of riders in one sweep.
    package static let sweepBatch = 100

    /// Checks the riders of a zone whose check is due, longest overdue first: at most `sweepBatch`. If there were that many,
    /// the caller should sweep again soon. Any number of gateways may sweep at the same time.
    ///
    /// - Returns: each rider whose check was due, and the result.
    package func sweep(_ zone: ZoneID) -> EventLoopFuture<[(rider: PersonID, expiry: Expiry)]> {
        self.ledger.send(["TIME"]).flatMap { answer in
            let time = (answer.array ?? []).compactMap(\.text).compactMap { $0.unixSeconds }
            let now = time.count == 2 ? time[0] * 1000 + time[1] / 1000 : 0
            return self.ledger.send([
                "ZRANGEBYSCORE", .text(self.keyspace.due(in: zone)), "-inf", .integer(now), "LIMIT", 0,
                .integer(Self.sweepBatch),
            ])
        }.flatMap { answer in
            let riders: [PersonID] = self.ledger.names(
                answer, of: self.keyspace.due(in: zone), by: "ZRANGEBYSCORE")
            let checks = riders.map { rider in
                self.expire(rider, in: zone).skippingMalformedData(as: .unchanged)
                    .map { (rider: rider, expiry: $0) }
            }
            return EventLoopFuture.whenAllSucceed(checks, on: self.eventLoop)
        }
    }
}
