// Registration of riders by the service: zone, approval, capacity and card. The zone of a rider is stored separately
// from the zones, in its own slot. To move, a rider is removed from one zone and then described in the other; a caller
// that is interrupted in between repeats the call. Its capacity and its card are stored beside its zone until the move
// is complete (MovingProfile.swift).

package import EnrouteWire
package import NIOCore
package import Redis

extension Riders {
    /// The zone of a rider; `nil` when the service never assigned one.
    package func zone(of rider: PersonID) -> EventLoopFuture<ZoneID?> {
        let key = self.keyspace.home(of: rider)
        return self.ledger.send(["GET", .text(key)]).map { answer in
            self.ledger.value(answer, of: key, by: "GET") { $0.text.flatMap { ZoneID($0) } }
        }
    }

    /// All zones that ever had a rider, for sweeps.
    package func zones() -> EventLoopFuture<[ZoneID]> {
        self.ledger.send(["SMEMBERS", .text(self.keyspace.zones)])
            .map { self.ledger.names($0, of: self.keyspace.zones, by: "SMEMBERS") }
    }

    package enum Description: Sendable, Hashable {
        /// The rider is new in the zone, and offline.
        case created(version: Int64)
        case changed(version: Int64)
        case unchanged(version: Int64)
        /// The rider cannot leave its zone with these tasks.
        case activeTasks([JobID], in: ZoneID)
        case otherRequest
    }

    /// Number of tasks that a rider may have at the same time.
    package static let capacities = 1...100

    /// Adds a rider to a zone, removing it from its former one, and sets its approval, capacity and card. Safe to
    /// repeat. If two callers add a rider to different zones at the same time, it belongs to the one that `zone(of:)`
    /// names, and is removed from the other, unless it received a task there in the meantime.
    ///
    /// - Parameters:
    ///   - isApproved: without approval the rider leaves the pool; with a task it drains.
    ///   - capacity: one of `capacities`; `nil` keeps the capacity, which is 1 for a new rider.
    ///   - card: `nil` keeps the card; an empty one removes it.
    package func describe(
        _ rider: PersonID, in zone: ZoneID, isApproved: Bool, capacity: Int?, card: RiderCard? = nil,
        by requester: Requester
    ) -> EventLoopFuture<Durable<Description>> {
        let profile = Profile(isApproved: isApproved, capacity: capacity, card: card)
        return self.describe(rider, in: zone, profile, requester)
    }

    private struct Profile: Sendable {
        var isApproved: Bool
        var capacity: Int?
        var card: RiderCard?

        /// Fills in the values that the caller did not set, from the former record.
        mutating func keep(_ former: MovingProfile) {
            self.capacity = self.capacity ?? former.capacity
            self.card = self.card ?? former.card
        }
    }

    private func describe(
        _ rider: PersonID, in zone: ZoneID, _ profile: Profile, _ requester: Requester
    ) -> EventLoopFuture<Durable<Description>> {
        self.ledger.send(["GET", .text(self.replyKey(of: requester, rider, zone))]).flatMap {
            known in
            // A repeated request must not move back a rider who has moved on since.
            if known != .null { return self.describeInZone(rider, in: zone, profile, requester) }
            return self.residence(of: rider).flatMap { residence in
                var profile = profile
                if let left = residence.left { profile.keep(left) }
                let description =
                    switch residence.zone {
                    case .some(let former) where former != zone:
                        self.move(rider, from: former, to: zone, profile, requester)
                    default: self.register(rider, in: zone, profile, requester)
                    }
                guard residence.isMoving else { return description }
                return description.flatMap { self.finishMove(of: rider, $0) }
            }
        }
    }

    /// Where a rider is registered, and what an interrupted move left.
    private struct Residence: Sendable {
        var zone: ZoneID?
        var isMoving: Bool
        /// The values kept from an interrupted move; the record that had them may be gone.
        var left: MovingProfile?
    }

    private func residence(of rider: PersonID) -> EventLoopFuture<Residence> {
        self.zone(of: rider).flatMap { zone in
            let key = self.keyspace.moving(rider)
            return self.ledger.send(["GET", .text(key)]).map { answer in
                let left = self.ledger.value(answer, of: key, by: "GET") { MovingProfile(stored: $0.text ?? "") }
                return Residence(zone: zone, isMoving: answer != .null, left: left)
            }
        }
    }

    private func move(
        _ rider: PersonID, from former: ZoneID, to zone: ZoneID, _ profile: Profile, _ requester: Requester
    ) -> EventLoopFuture<Durable<Description>> {
        // Removal deletes the record, so what is kept moves with the rider.
        guard profile.card == nil || profile.capacity == nil else {
            return self.leave(former, for: zone, rider, profile, requester)
        }
        return self.read(rider, in: former).flatMap { record in
            guard let record, record.card != nil || profile.capacity == nil else {
                return self.leave(former, for: zone, rider, profile, requester)
            }
            let left = MovingProfile(capacity: record.capacity, card: record.card)
            var profile = profile
            profile.keep(left)
            let moved = profile
            // A caller that repeats the call after an interruption finds the values here.
            return self.writes.send([
                "SET", .text(self.keyspace.moving(rider)), .bytes(left.stored), "PX", .integer(Self.longestMoveMs),
            ]).flatMap { _ in self.leave(former, for: zone, rider, moved, requester) }
                .flatMap { self.finishMove(of: rider, $0) }
        }
    }

    /// How long the capacity and the card of an interrupted move are kept for the caller's next attempt.
    package static let longestMoveMs = 3_600_000

    private func finishMove(
        of rider: PersonID, _ description: Durable<Description>
    ) -> EventLoopFuture<Durable<Description>> {
        guard description.value != .otherRequest else { return self.eventLoop.makeSucceededFuture(description) }
        return self.writes.send(["DEL", .text(self.keyspace.moving(rider))]).map { _ in description }
    }

    private func leave(
        _ former: ZoneID, for zone: ZoneID, _ rider: PersonID, _ profile: Profile, _ requester: Requester
    ) -> EventLoopFuture<Durable<Description>> {
        self.removeRecord(of: rider, from: former, because: "moves to \(zone)", by: requester).flatMap { removal in
            switch removal.value {
            case .removed, .noSuchRider: return self.register(rider, in: zone, profile, requester)
            case .activeTasks(let jobs):
                let answer = Durable<Description>(value: .activeTasks(jobs, in: former), replicas: nil)
                return self.eventLoop.makeSucceededFuture(answer)
            case .otherRequest:
                return self.eventLoop.makeSucceededFuture(Durable(value: .otherRequest, replicas: nil))
            }
        }
    }

    private func register(
        _ rider: PersonID, in zone: ZoneID, _ profile: Profile, _ requester: Requester
    ) -> EventLoopFuture<Durable<Description>> {
        // The zone is registered first, so that no rider is in a zone that is never swept.
        let key = RedisCommand.Word.text(self.keyspace.home(of: rider))
        return self.writes.send(["SADD", .text(self.keyspace.zones), .text(zone.text)]).flatMap { _ in
            self.writes.send(["SET", key, .text(zone.text), "GET"])
        }.flatMap { former in
            self.describeInZone(rider, in: zone, profile, requester).flatMap { description in
                self.leaveOthers(rider, zone, former: former.text.flatMap { ZoneID($0) }, requester).map { description }
            }
        }
    }

    /// Another call may have put the rider into another zone meanwhile. The call that wrote the zone last decides, and
    /// each call removes the record that is left over: its own, or that of the former zone.
    private func leaveOthers(
        _ rider: PersonID, _ zone: ZoneID, former: ZoneID?, _ requester: Requester
    ) -> EventLoopFuture<Void> {
        self.zone(of: rider).flatMap { home in
            guard let home, let left = home == zone ? former : zone, left != home else {
                return self.eventLoop.makeSucceededVoidFuture()
            }
            return self.removeRecord(of: rider, from: left, because: "moves to \(home)", by: Requester(requester.actor))
                .map { _ in }
        }
    }

    private func describeInZone(
        _ rider: PersonID, in zone: ZoneID, _ profile: Profile, _ requester: Requester
    ) -> EventLoopFuture<Durable<Description>> {
        self.change(
            Scripts.describeRider, rider, zone, requester,
            [
                profile.isApproved ? 1 : 0, profile.capacity.map { .integer($0) } ?? "",
                profile.card.map { .bytes($0.json) } ?? "",
            ]
        ) { reply in
            switch reply.code {
            case 1: reply.version.map { .changed(version: $0) }
            case 2: reply.version.map { .unchanged(version: $0) }
            case 3: reply.version.map { .created(version: $0) }
            case -9: .otherRequest
            default: nil
            }
        }
    }

    package enum Removal: Sendable, Hashable {
        case removed(version: Int64)
        case noSuchRider
        case activeTasks([JobID])
        case otherRequest
    }

    /// Removes a rider from a zone; refused while the rider has a task. `zone(of:)` still returns this zone.
    ///
    /// - Parameter reason: shown to people, at most 200 bytes without control characters.
    package func remove(
        _ rider: PersonID, from zone: ZoneID, because reason: String, by requester: Requester
    ) -> EventLoopFuture<Durable<Removal>> {
        // The values kept from an interrupted move are removed too.
        self.writes.send(["DEL", .text(self.keyspace.moving(rider))])
            .flatMap { _ in self.removeRecord(of: rider, from: zone, because: reason, by: requester) }
    }

    private func removeRecord(
        of rider: PersonID, from zone: ZoneID, because reason: String, by requester: Requester
    ) -> EventLoopFuture<Durable<Removal>> {
        self.change(
            Scripts.removeRider, rider, zone, requester, keys: [self.keyspace.due(in: zone)], [.text(reason)]
        ) { reply in
            switch reply.code {
            case 1: reply.version.map { .removed(version: $0) }
            case 0: .noSuchRider
            case -1: .activeTasks(reply.jobs)
            case -9: .otherRequest
            default: nil
            }
        }
    }
}

extension Riders {
    /// Whether a rider is online but may have earlier jobs, from before they entered the zone, that are not tasks yet.
    package func isOnlineAndJoining(_ rider: PersonID, in zone: ZoneID) -> EventLoopFuture<Bool> {
        let key = self.keyspace.rider(rider, in: zone)
        return self.ledger.send(["HMGET", .text(key), "status", "joined"]).map { answer in
            (answer.array ?? []).map(\.text) == [Availability.online.rawValue, nil]
        }
    }

    /// Records that the jobs a rider had before they entered the zone are tasks now. A rider who is no longer online is
    /// still joining: the next gateway that sets them online looks for such jobs again.
    package func finishJoining(_ rider: PersonID, in zone: ZoneID) -> EventLoopFuture<Void> {
        let key = self.keyspace.rider(rider, in: zone)
        return self.writes.evaluate(Scripts.finishJoining, keys: [key], arguments: []).map { _ in }
    }

    /// The card of a rider; `nil` for a rider without one. Read only for a job whose status shows its rider.
    package func card(of rider: PersonID) -> EventLoopFuture<RiderCard?> {
        self.zone(of: rider).flatMap { zone in
            guard let zone else { return self.eventLoop.makeSucceededFuture(nil) }
            let key = self.keyspace.rider(rider, in: zone)
            return self.ledger.send(["HMGET", .text(key), "card"]).map { answer in
                let card = answer.array?.first ?? .null
                guard card.text?.isEmpty != true else { return nil }
                return self.ledger.value(card, of: key, by: "HMGET") { RiderCard(stored: $0.text ?? "") }
            }
        }
    }
}
