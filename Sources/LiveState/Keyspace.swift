// Every key and channel; no other file spells one. What one script touches shares the hash tag {job}, so that it shares a
// slot in a cluster too.

package import EnrouteWire

/// Names in Redis, behind a prefix of the deployment.
package struct Keyspace: Sendable, Hashable {
    /// '' or something like `staging:`; several deployments may share one Redis.
    package let prefix: String

    package init(prefix: String = "") { self.prefix = prefix }

    package func job(_ job: JobID) -> String { "\(self.prefix)job:{\(job.text)}" }
    package func log(of job: JobID) -> String { self.job(job) + ":log" }
    package func travel(of job: JobID) -> String { self.job(job) + ":travel" }
    package func position(of job: JobID) -> String { self.job(job) + ":position" }
    package func eta(of job: JobID) -> String { self.job(job) + ":eta" }
    /// Held by who calculates the arrival.
    package func etaLease(of job: JobID) -> String { self.eta(of: job) + ":lease" }
    /// The stops its rider makes first.
    package func before(_ job: JobID) -> String { self.job(job) + ":before" }
    /// Questions to a service of arrival times on one day.
    package func etaBudget(of service: String, day: Int64) -> String { "\(self.prefix)budget:\(service):\(day)" }
    /// At the live instance: what became of a rider's readings.
    package func verdicts(of job: JobID) -> String { self.job(job) + ":verdicts" }
    /// By what its secret comes to, which opens nothing.
    package func ticket(_ name: String) -> String { "\(self.prefix)ticket:\(name)" }
    /// What a sign-in code, which is not its name, is good for.
    package func signIn(_ name: String) -> String { "\(self.prefix)signin:\(name)" }
    /// What was asked under an idempotency key, which is not its name, and the sealed answer.
    package func idempotency(_ name: String) -> String { "\(self.prefix)idempotency:{\(name)}" }
    package func link(_ id: String) -> String { "\(self.prefix)link:{\(id)}" }
    package func viewers(ofLink id: String) -> String { self.link(id) + ":viewers" }
    // The riders of a zone, at the ledger, all in the zone's slot.
    package func rider(_ rider: PersonID, in zone: ZoneID) -> String {
        "\(self.prefix)rider:{\(zone.text)}:\(rider.text)"
    }
    package func tasks(of rider: PersonID, in zone: ZoneID) -> String { self.rider(rider, in: zone) + ":tasks" }
    package func request(_ id: String, of rider: PersonID, in zone: ZoneID) -> String {
        "\(self.prefix)request:{\(zone.text)}:\(rider.text):\(id)"
    }
    private func riders(_ zone: ZoneID) -> String { "\(self.prefix)riders:{\(zone.text)}" }
    package func available(in zone: ZoneID) -> String { self.riders(zone) + ":available" }
    package func due(in zone: ZoneID) -> String { self.riders(zone) + ":due" }
    package func taskOwners(in zone: ZoneID) -> String { self.riders(zone) + ":tasks" }
    /// Stream of every change in the zone.
    package func changeLog(of zone: ZoneID) -> String { self.riders(zone) + ":audit" }
    /// Channel of the same.
    package func changes(in zone: ZoneID) -> String { self.riders(zone) + ":changes" }
    /// The zone whose changes these are.
    package func zone(ofChannel channel: UnsafeRawBufferPointer) -> ZoneID? {
        let start = self.prefix.utf8.count + 8
        guard channel.count > start, let end = channel[start...].firstIndex(of: UInt8(ascii: "}")) else { return nil }
        return ZoneID(bytes: UnsafeRawBufferPointer(rebasing: channel[start..<end]))
    }
    /// At the live instance: where riders are, and when they were there.
    package func places(in zone: ZoneID) -> String { self.riders(zone) + ":geo" }
    package func placesSeen(in zone: ZoneID) -> String { self.riders(zone) + ":seen" }

    /// The zone a rider is in, at the ledger. Not `rider:{R}:zone`: that is the record of a rider `zone` in a zone R.
    package func home(of rider: PersonID) -> String { "\(self.prefix)home:{\(rider.text)}" }
    /// Every zone there is, at the ledger.
    package var zones: String { "\(self.prefix)zones" }

    // Which jobs are open in a zone, and which zones have any, at the ledger: for operations, not for deciding.
    package func jobs(in zone: ZoneID) -> String { "\(self.prefix)zone:{\(zone.text)}:jobs" }
    package var zonesOfJobs: String { "\(self.prefix)zones:jobs" }

    // What gateways say of themselves, at the live instance.
    package var gateways: String { "\(self.prefix)gateways" }
    package func gateway(_ id: String) -> String { "\(self.prefix)gateway:{\(id)}" }
    /// How many follow which job at a gateway.
    package func followed(atGateway id: String) -> String { self.gateway(id) + ":followed" }

    /// Streams, at the ledger.
    package func stream(_ stream: AuditEntry.Stream) -> String { self.prefix + stream.rawValue }

    /// Stream of what was revoked, and the channel that tells of it, at the ledger.
    package var control: String { "\(self.prefix)control" }

    /// Channel of locations, arrival times and tracking, at the live instance.
    package func feed(of job: JobID) -> String { self.job(job) + ":feed" }
    /// Channel of status events, at the ledger.
    package func events(of job: JobID) -> String { self.job(job) + ":events" }

    /// The job whose feed or events these are.
    package func job(ofChannel channel: UnsafeRawBufferPointer) -> JobID? {
        let start = self.prefix.utf8.count + 5
        guard channel.count > start, let end = channel[start...].firstIndex(of: UInt8(ascii: "}")) else { return nil }
        return JobID(bytes: UnsafeRawBufferPointer(rebasing: channel[start..<end]))
    }

    /// Every key of the deployment, for SCAN.
    package var everyKey: String { "\(self.prefix)*" }
}
