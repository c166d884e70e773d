// Availability and registration of riders, for WebSocket and REST. The zone's scripts decide; this file turns their replies
// into refusals with messages.

internal import Access
package import EnrouteWire
internal import HTTPValues
package import LiveState
package import NIOCore
package import Redis

/// A rider and their zone.
package struct RegisteredRider: Sendable, Hashable {
    package let rider: PersonID
    package let zone: ZoneID
    package let record: RiderRecord
}

/// Reads and changes riders. Safe to use from any thread.
package struct RiderService: Sendable {
    package let riders: Riders
    package let places: GeoIndex
    package let jobs: JobService
    /// Called when a rider with an active task was refused to go offline.
    package let onOfflineRefused: @Sendable () -> Void

    package init(riders: Riders, places: GeoIndex, jobs: JobService, onOfflineRefused: @escaping @Sendable () -> Void) {
        self.riders = riders
        self.places = places
        self.jobs = jobs
        self.onOfflineRefused = onOfflineRefused
    }

    /// The exact text that the user story requires (RDR-009-AC-03).
    static let activeTask = "You cannot go offline during an active delivery."

    private var loop: any EventLoop { self.riders.eventLoop }

    /// Reads a rider and their zone.
    ///
    /// - Returns: fails with `Refused` when the rider is in no zone.
    package func read(_ rider: PersonID) -> EventLoopFuture<RegisteredRider> {
        self.zone(of: rider).flatMap { zone in
            self.riders.read(rider, in: zone).flatMapThrowing { record in
                guard let record else { throw Refused.noSuchRider }
                return RegisteredRider(rider: rider, zone: zone, record: record)
            }
        }
    }

    private func zone(of rider: PersonID) -> EventLoopFuture<ZoneID> {
        self.riders.zone(of: rider).flatMapThrowing { zone in
            guard let zone else { throw Refused.noSuchRider }
            return zone
        }
    }

    /// Sets a rider online or offline, on behalf of the rider or of operations staff.
    ///
    /// - Parameters:
    ///   - device: becomes the rider's device; `nil` keeps the current one.
    ///   - reason: shown to people; at most `longestReason` bytes.
    /// - Returns: the rider after the change; fails with `Refused`.
    package func declare(
        _ status: Availability, of rider: PersonID, device: DeviceID? = nil, because reason: String = "",
        by requester: Riders.Requester
    ) -> EventLoopFuture<Durable<RegisteredRider>> {
        self.zone(of: rider).flatMap { zone in
            let declared =
                status == .online
                ? self.goOnline(rider, zone, device, requester).flatMap { replicas in
                    self.jobs.acquireEarlierJobs(of: rider, in: zone).map { replicas }
                }
                // A gateway may have died after it set the rider online.
                : self.jobs.acquireEarlierJobs(of: rider, in: zone).flatMap {
                    self.goOffline(rider, zone, device, reason, requester, retriesAfterCleanup: true)
                }
            return declared.flatMap { replicas in
                self.read(rider).map { Durable(value: $0, replicas: replicas) }
            }
        }
    }

    /// Maximum size of a reason in bytes.
    package static let longestReason = 200

    /// - Returns: how many replicas confirmed it; `nil` if that was not requested.
    private func goOnline(
        _ rider: PersonID, _ zone: ZoneID, _ device: DeviceID?, _ requester: Riders.Requester
    ) -> EventLoopFuture<Int?> {
        self.riders.setOnline(rider, in: zone, device: device, by: requester).flatMapThrowing { answer in
            switch answer.value {
            case .online, .unchanged: return answer.replicas
            case .noSuchRider: throw Refused.noSuchRider
            case .notApproved:
                throw Refused(code: .forbidden, message: "Your account is not approved yet, so you cannot go online.")
            case .otherRequest: throw Refused.otherRequest
            }
        }
    }

    private func goOffline(
        _ rider: PersonID, _ zone: ZoneID, _ device: DeviceID?, _ reason: String, _ requester: Riders.Requester,
        retriesAfterCleanup: Bool
    ) -> EventLoopFuture<Int?> {
        self.riders.setOffline(rider, in: zone, device: device, because: reason, by: requester).flatMap { answer in
            switch answer.value {
            case .offline, .unchanged:
                return self.places.forget(rider, in: zone).map { answer.replicas }
            case .activeTasks(let jobs) where retriesAfterCleanup:
                return self.jobs.releaseStaleTasks(jobs, of: rider, in: zone).flatMap { releases in
                    guard !releases.isEmpty else { return self.refuseOffline(jobs) }
                    // The same request id would return the stored refusal.
                    let again = Riders.Requester(requester.actor)
                    return self.goOffline(rider, zone, device, reason, again, retriesAfterCleanup: false)
                }
            case .activeTasks(let jobs): return self.refuseOffline(jobs)
            case .noSuchRider: return self.loop.makeFailedFuture(Refused.noSuchRider)
            case .otherRequest: return self.loop.makeFailedFuture(Refused.otherRequest)
            }
        }
    }

    private func refuseOffline(_ jobs: [JobID]) -> EventLoopFuture<Int?> {
        self.onOfflineRefused()
        return self.loop.makeFailedFuture(Refused(hasTasks: jobs))
    }

    /// Adds a rider to a zone on behalf of the service, and sets the rider's approval, capacity and card. Followers of
    /// the rider's tasks are notified of a new card before this succeeds. If that fails, repeat the call.
    ///
    /// - Parameters:
    ///   - capacity: `nil` keeps the capacity, which is 1 for a new rider.
    ///   - card: `nil` keeps the card; an empty one removes it.
    /// - Returns: the rider after the change, and whether it is new in the zone; fails with `Refused`.
    package func describe(
        _ rider: PersonID, in zone: ZoneID, isApproved: Bool, capacity: Int?, card: RiderCard? = nil,
        by requester: Riders.Requester
    ) -> EventLoopFuture<(rider: Durable<RegisteredRider>, isNew: Bool)> {
        self.riders.zone(of: rider).flatMap { former in
            self.riders.describe(
                rider, in: zone, isApproved: isApproved, capacity: capacity, card: card, by: requester
            ).flatMap { answer in
                switch answer.value {
                case .created, .changed, .unchanged:
                    let isNew = if case .created = answer.value { true } else { false }
                    let moved = former.map { $0 == zone ? nil : $0 } ?? nil
                    let forgotten =
                        moved.map { self.places.forget(rider, in: $0) } ?? self.loop.makeSucceededVoidFuture()
                    return forgotten.flatMap {
                        self.read(rider)
                    }.flatMap { rider in
                        self.refreshJobs(of: rider.rider, tasks: rider.record.tasks.keys, rider.record.cardVersion).map
                        {
                            (Durable(value: rider, replicas: answer.replicas), isNew)
                        }
                    }
                case .activeTasks(let jobs, let zone):
                    return self.loop.makeFailedFuture(Refused(hasTasks: jobs, in: zone))
                case .otherRequest: return self.loop.makeFailedFuture(Refused.otherRequest)
                }
            }
        }
    }

    /// Maximum number of jobs that are not tasks whose followers are notified of a card: the newest.
    private static let maxRefreshedJobs = 100

    /// Makes the followers of a rider's jobs read the rider's card again. A rider who was added to a zone after getting
    /// a job has jobs that are not tasks.
    ///
    /// - Parameter version: of the card; 0 if the rider never had one.
    private func refreshJobs(
        of rider: PersonID, tasks: some Sequence<JobID>, _ version: Int64
    ) -> EventLoopFuture<Void> {
        guard version > 0 else { return self.loop.makeSucceededVoidFuture() }
        let tasks = Set(tasks)
        return self.jobs.ledger.page(
            of: .rider(rider), after: nil, limit: Self.maxRefreshedJobs, now: WallClock.nowMilliseconds
        ) { $1.status.showsRider }.flatMap { page in
            let refreshed = tasks.union(page.jobs.map(\.job)).map {
                self.jobs.ledger.refresh($0, after: version, ofCardOf: rider)
            }
            return EventLoopFuture.andAllSucceed(refreshed, on: self.loop)
        }
    }

    /// Removes a rider from their zone on behalf of the service. Followers of the rider's jobs no longer see the card
    /// when this succeeds.
    package func remove(_ rider: PersonID, by requester: Riders.Requester) -> EventLoopFuture<Durable<Void>> {
        self.zone(of: rider).flatMap { zone in
            self.riders.remove(rider, from: zone, because: "", by: requester).flatMap { answer in
                switch answer.value {
                case .noSuchRider: return self.loop.makeFailedFuture(Refused.noSuchRider)
                case .removed(let version):
                    return self.places.forget(rider, in: zone).flatMap {
                        self.refreshJobs(of: rider, tasks: EmptyCollection<JobID>(), version)
                    }.map { Durable(value: (), replicas: answer.replicas) }
                case .activeTasks(let jobs): return self.loop.makeFailedFuture(Refused(hasTasks: jobs, in: zone))
                case .otherRequest: return self.loop.makeFailedFuture(Refused.otherRequest)
                }
            }
        }
    }

    /// The result of a heartbeat.
    package enum HeartbeatResult: Sendable, Hashable {
        /// The rider is online in this zone.
        case recorded(ZoneID)
        /// The rider is offline or in no zone. Nothing was changed.
        case ignored
        /// This is the rider's device, so the heartbeat of another one was not recorded.
        case otherDevice(DeviceID)
    }

    /// Records a heartbeat of a rider, and the rider's place.
    ///
    /// - Parameters:
    ///   - place: for finding the nearest rider; valid as long as a heartbeat.
    ///   - takesOver: the device has just signed in.
    package func recordHeartbeat(
        of rider: PersonID, at place: Coordinate?, device: DeviceID?, takesOver: Bool = false
    ) -> EventLoopFuture<HeartbeatResult> {
        self.riders.zone(of: rider).flatMap { zone in
            guard let zone else { return self.loop.makeSucceededFuture(.ignored) }
            return self.riders.heartbeat(of: rider, in: zone, device: device, takesOver: takesOver).flatMap { result in
                switch result {
                case .otherDevice(let device): return self.loop.makeSucceededFuture(.otherDevice(device))
                case .noSuchRider, .offline: return self.loop.makeSucceededFuture(.ignored)
                case .recorded:
                    guard let place else { return self.loop.makeSucceededFuture(.recorded(zone)) }
                    return self.places.place(rider, in: zone, at: place).map { _ in .recorded(zone) }
                }
            }
        }
    }
}

extension Refused {
    /// The same refusal as the rider sees it: without a zone, a rider is not approved anywhere.
    package var ofItself: Refused { self.code == .notFound ? Refused(code: .forbidden, message: self.message) : self }

    static let noSuchRider = Refused(
        code: .notFound, message: "The rider is not in any zone. The service must add the rider to a zone first.")
    package static let otherRequest = Refused(
        code: .idempotencyKeyReused,
        message: "This Idempotency-Key was used for another request. Use a new key for a new request.")

    /// The rider cannot go offline or leave the zone because of these tasks.
    fileprivate init(hasTasks jobs: [JobID], in zone: ZoneID? = nil) {
        let message =
            zone.map { "The rider has an active task in zone \($0) and cannot leave it." } ?? RiderService.activeTask
        self.init(code: .activeTask, message: message)
        self.tasks = jobs
    }
}
