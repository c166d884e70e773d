// What a rider's app does: declares availability, switches travel mode, and reports locations.

public import Foundation

/// The rider's side of a client. Get it from `EnrouteClient.rider`.
public struct RiderClient: Sendable {
    let client: EnrouteClient

    /// Declares the rider online or offline.
    ///
    /// - Parameters:
    ///   - availability: whether the rider works.
    ///   - device: names the phone; the newest device of a rider counts.
    /// - Throws: `activeTask` with the tasks that the rider must finish or return first, `forbidden`, `rateLimited`,
    ///   `network`.
    public func setAvailability(_ availability: Availability, device: String? = nil) async throws(EnrouteError) {
        _ = try await self.client.request(.availability(availability, device: device))
    }

    /// Switches travel mode on: from now on this device reports, and the rider's other devices do not. It needs an open
    /// connection. After a reconnect, the client resumes by itself, until the gateway refuses that because travel mode was
    /// switched off elsewhere: then `outcomes` contains `travelModeOff`, `otherDevice` or why else it is over.
    ///
    /// - Parameters:
    ///   - job: in a status that allows travel mode.
    ///   - resuming: only goes on with what this device started, for example in an earlier launch. It needs the same
    ///     `Configuration.device`.
    /// - Returns: until when the rider may share its position, by the gateway's clock.
    /// - Throws: `illegalTransition` in a status without travel mode, `notFound`, `network` without an open connection or answer,
    ///   and with `resuming` `otherDevice` or `travelModeOff` if another device took over or switched it off meanwhile. After a
    ///   lost answer the client resumes, so what the gateway started goes on.
    @discardableResult
    public func startTravel(_ job: JobID, resuming: Bool = false) async throws(EnrouteError) -> Date? {
        try await self.client.ask { $0.switchTravel(job, isActive: true, resumes: resuming, at: $1) }.deadline.map {
            Date(ms: $0)
        }
    }

    /// Switches travel mode off. From this call on nothing of the job is sent, even if the gateway cannot be reached.
    ///
    /// - Parameters:
    ///   - job: the job.
    ///   - resuming: only ends what this device started, for what the rider did earlier, while there was no connection.
    /// - Throws: `network`, and with `resuming` `otherDevice` if another device took over meanwhile.
    public func stopTravel(_ job: JobID, resuming: Bool = false) async throws(EnrouteError) {
        _ = try await self.client.ask { $0.switchTravel(job, isActive: false, resumes: resuming, at: $1) }
    }

    /// Queues a reading for 1 to 10 jobs, in the order of their stops. It returns at once: the newest readings are sent first,
    /// at the pace that the gateway asks for, over the socket while it is open and over REST in the background. Readings for
    /// other jobs are reported in turn, one report at a time. `outcomes` says what became of a report.
    ///
    /// - Parameters:
    ///   - fix: the reading.
    ///   - jobs: in the order of their stops.
    ///   - battery: 0 to 1; leave it out while the phone is charging.
    public func report(_ fix: Fix, for jobs: [JobID], battery: Double? = nil) async {
        await self.client.report(fix, for: jobs, battery: battery)
    }

    /// Reports why there is no position, for one job or for all.
    public func reportUnavailable(_ reason: UnavailableReason, for job: JobID? = nil) async throws(EnrouteError) {
        _ = try await self.client.request(.unavailable(reason, job))
    }

    /// Sends a heartbeat of a rider who is online, optionally with a rough place.
    public func sendPresence(at place: Place? = nil, device: String? = nil) async throws(EnrouteError) {
        _ = try await self.client.request(.presence(place, device: device))
    }

    /// What became of reports, for each of their jobs, and which jobs could not be resumed after a reconnect. A reading that is too
    /// old to be sent, or that a newer one for the same jobs replaced before, has no outcome.
    public var outcomes: Signals<ReportOutcome> { Signals { await self.client.openOutcomes() } }

    /// How often the gateway wants reports, the current interval first. Configure the receiver by it.
    public var pace: Signals<Duration> { Signals { await self.client.openPaces() } }
}
