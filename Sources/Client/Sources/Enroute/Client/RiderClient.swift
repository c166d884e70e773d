// The actions of a rider's app: declares availability, switches travel mode, and reports locations.

public import Foundation

/// The rider's side of a client. Get it from `EnrouteClient.rider`.
public struct RiderClient: Sendable {
    let client: EnrouteClient

    /// Declares the rider online or offline.
    ///
    /// - Parameters:
    ///   - availability: whether the rider is available for tasks.
    ///   - device: the name of the phone. The newest device of a rider counts.
    /// - Throws: `activeTask` with the tasks that the rider must finish or return first, `forbidden`, `rateLimited`,
    ///   `network`.
    public func setAvailability(_ availability: Availability, device: String? = nil) async throws(EnrouteError) {
        _ = try await self.client.request(.availability(availability, device: device))
    }

    /// Switches travel mode on: from now on this device reports, and the rider's other devices do not. It needs an open
    /// connection. After a reconnect, the client resumes travel mode automatically. If the gateway refuses that, because
    /// travel mode was switched off elsewhere, `outcomes` contains `travelModeOff`, `otherDevice` or another reason.
    /// - Parameters:
    ///   - job: a job whose status allows travel mode.
    ///   - resuming: only continues what this device started, for example in an earlier launch. It needs the same
    ///     `Configuration.device`.
    /// - Returns: until when the rider may share its position, by the gateway's clock.
    /// - Throws: `illegalTransition` if the status does not allow travel mode; `notFound`; `network` without an open
    ///   connection or an answer; with `resuming`, `otherDevice` or `travelModeOff` if another device took over or switched it
    ///   off meanwhile. After a lost answer, the client resumes what the gateway may have started.
    @discardableResult
    public func startTravel(_ job: JobID, resuming: Bool = false) async throws(EnrouteError) -> Date? {
        try await self.client.ask { $0.switchTravel(job, isActive: true, resumes: resuming, at: $1) }.deadline.map {
            Date(ms: $0)
        }
    }

    /// Switches travel mode off. From this call on nothing is sent for the job, even if the gateway cannot be reached.
    ///
    /// - Parameters:
    ///   - job: the job.
    ///   - resuming: only ends what this device started. Use it for an action of the rider that happened earlier, without a
    ///     connection.
    /// - Throws: `network`, and with `resuming` `otherDevice` if another device took over meanwhile.
    public func stopTravel(_ job: JobID, resuming: Bool = false) async throws(EnrouteError) {
        _ = try await self.client.ask { $0.switchTravel(job, isActive: false, resumes: resuming, at: $1) }
    }

    /// Queues a reading for 1 to 10 jobs, in the order of their stops. It returns immediately. The newest readings are sent
    /// first, at the pace that the gateway requests, over the socket while it is open and over REST in the background.
    /// Readings for other jobs are reported in turn, one report at a time. `outcomes` contains the result of each report.
    ///
    /// - Parameters:
    ///   - fix: the reading.
    ///   - jobs: in the order of their stops.
    ///   - battery: 0 to 1; leave it out while the phone is charging.
    public func report(_ fix: Fix, for jobs: [JobID], battery: Double? = nil) async {
        await self.client.report(fix, for: jobs, battery: battery)
    }

    /// Reports why there is no position, for one job or for all. Until the next reading for the job, the client sends the
    /// reason again on each new connection, because a gateway forgets it with the connection.
    ///
    /// - Throws: `network` without an open connection: the reason is then sent on the next one.
    public func reportUnavailable(_ reason: UnavailableReason, for job: JobID? = nil) async throws(EnrouteError) {
        _ = try await self.client.ask { $0.reportUnavailable(reason, job, at: $1) }
    }

    /// Sends a heartbeat of a rider who is online, optionally with an approximate place.
    public func sendPresence(at place: Place? = nil, device: String? = nil) async throws(EnrouteError) {
        _ = try await self.client.request(.presence(place, device: device))
    }

    /// The results of reports, for each of their jobs, and jobs that could not be resumed after a reconnect. A reading has no
    /// outcome if it was too old to be sent, if a newer one for the same jobs replaced it before, or if another device reports
    /// for the job (`otherDevice`) and `startTravel` was not called since.
    public var outcomes: Signals<ReportOutcome> { Signals { await self.client.openOutcomes() } }

    /// The interval at which the gateway wants reports, the current one first. Configure the receiver accordingly.
    public var pace: Signals<Duration> { Signals { await self.client.openPaces() } }
}
