// The names of all keys and channels; no other file spells one. All keys of one script share a hash tag, so they are in one
// slot of a cluster.

package import EnrouteWire
internal import Redis

/// Names in Redis, with the prefix of the deployment.
package struct Keyspace: Sendable, Hashable {
    /// Empty or, for example, `staging:`. Several deployments may share one Redis.
    package let prefix: String

    package init(prefix: String = "") { self.prefix = prefix }

    package func job(_ job: JobID) -> String { "\(self.prefix)job:{\(job.text)}" }
    package func log(of job: JobID) -> String { self.job(job) + ":log" }
    package func travel(of job: JobID) -> String { self.job(job) + ":travel" }
    package func position(of job: JobID) -> String { self.job(job) + ":position" }
    package func eta(of job: JobID) -> String { self.job(job) + ":eta" }
    /// Held by the gateway that calculates the arrival time.
    package func etaLease(of job: JobID) -> String { self.eta(of: job) + ":lease" }
    /// Ledger: ids of the job's tracking links, by the time at which each expires.
    package func links(of job: JobID) -> String { self.job(job) + ":links" }
    /// The stops that the rider makes before this job.
    package func stopsBefore(_ job: JobID) -> String { self.job(job) + ":before" }
    /// Number of requests to a routing provider on one day.
    package func etaBudget(of service: String, day: Int64) -> String { "\(self.prefix)budget:\(service):\(day)" }
    /// Live: validation results of a rider's fixes.
    package func verdicts(of job: JobID) -> String { self.job(job) + ":verdicts" }
    /// Named by a digest of the ticket. The name cannot be used as the ticket.
    package func ticket(_ name: String) -> String { "\(self.prefix)ticket:\(name)" }
    /// The grant of a sign-in code, under a name derived from the code.
    package func signIn(_ name: String) -> String { "\(self.prefix)signin:\(name)" }
    /// The request and the encrypted response of an idempotency key, under a name derived from the key.
    package func idempotency(_ name: String) -> String { "\(self.prefix)idempotency:{\(name)}" }
    package func link(_ id: String) -> String { "\(self.prefix)link:{\(id)}" }
    package func viewers(ofLink id: String) -> String { self.link(id) + ":viewers" }
    // Ledger: the riders of a zone, all in the zone's slot.
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
    /// Channel with the same changes.
    package func changes(in zone: ZoneID) -> String { self.riders(zone) + ":changes" }
    /// The zone to which a channel of changes belongs.
    package func zone(ofChannel channel: UnsafeRawBufferPointer) -> ZoneID? {
        let start = self.prefix.utf8.count + 8
        guard channel.count > start, let end = channel[start...].firstIndex(of: UInt8(ascii: "}")) else { return nil }
        return ZoneID(bytes: UnsafeRawBufferPointer(rebasing: channel[start..<end]))
    }
    /// Live: places of riders, and when each was stored.
    package func places(in zone: ZoneID) -> String { self.riders(zone) + ":geo" }
    package func placesSeen(in zone: ZoneID) -> String { self.riders(zone) + ":seen" }

    /// Ledger: the zone of a rider. Not `rider:{R}:zone`, which is the record of a rider named `zone` in a zone R.
    package func home(of rider: PersonID) -> String { "\(self.prefix)home:{\(rider.text)}" }
    /// Ledger: the card of a rider who is between two zones, for an hour at most.
    package func moving(_ rider: PersonID) -> String { "\(self.prefix)moving:{\(rider.text)}" }
    /// Ledger: all zones.
    package var zones: String { "\(self.prefix)zones" }

    // Ledger: open jobs of a zone, and zones with open jobs. They are only for display; no decision depends on them.
    package func jobs(in zone: ZoneID) -> String { "\(self.prefix)zone:{\(zone.text)}:jobs" }
    package var zonesOfJobs: String { "\(self.prefix)zones:jobs" }
    // Ledger: the jobs of a person. Not `rider:{R}:jobs`, which is the record of a rider named `jobs` in a zone R.
    package func jobs(ofRider rider: PersonID) -> String { "\(self.prefix)jobs:rider:{\(rider.text)}" }
    package func jobs(ofCustomer customer: PersonID) -> String { "\(self.prefix)jobs:customer:{\(customer.text)}" }

    // Live: health reports of gateways.
    package var gateways: String { "\(self.prefix)gateways" }
    package func gateway(_ id: String) -> String { "\(self.prefix)gateway:{\(id)}" }
    /// Number of followers per job at one gateway.
    package func followed(atGateway id: String) -> String { self.gateway(id) + ":followed" }

    /// Number of sessions per rider at one gateway.
    package func ridersConnected(atGateway id: String) -> String { self.gateway(id) + ":riders" }

    /// Ledger: the audit streams.
    package func stream(_ stream: AuditEntry.Stream) -> String { self.prefix + stream.rawValue }

    /// Ledger: stream of revocations, and the channel that announces them.
    package var control: String { "\(self.prefix)control" }

    /// Live: the browsers to notify when the rider is near.
    package func push(of job: JobID) -> String { self.job(job) + ":push" }

    /// Live: channel of locations, arrival times and tracking states.
    package func feed(of job: JobID) -> String { self.job(job) + ":feed" }
    /// Ledger: channel of status events.
    package func events(of job: JobID) -> String { self.job(job) + ":events" }

    /// The job to which a feed or a channel of events belongs.
    package func job(ofChannel channel: UnsafeRawBufferPointer) -> JobID? {
        let start = self.prefix.utf8.count + 5
        guard channel.count > start, let end = channel[start...].firstIndex(of: UInt8(ascii: "}")) else { return nil }
        return JobID(bytes: UnsafeRawBufferPointer(rebasing: channel[start..<end]))
    }

    // Ledger: the stream of all events, and where the scripts of a cluster leave events for it.
    /// Number of the shards of the stream of all events.
    package static let eventShards = 8
    /// The shard with the events of this job or rider: CRC16 of its id, modulo the number of shards.
    package func events(of subject: String) -> String { self.events(shard: HashSlot.of(subject) % Self.eventShards) }
    package func events(shard: Int) -> String { "\(self.prefix)events:{\(shard)}" }
    /// Epochs of erased records in a cluster. Their events must no longer be appended to this shard.
    package func erased(fromShardOf subject: String) -> String { self.events(of: subject) + ":erased" }
    func erased(fromShard shard: Int) -> String { self.events(shard: shard) + ":erased" }
    /// Events of the jobs in this slot of a cluster, until a gateway has moved them to their shard.
    package func outbox(ofSlot slot: Int) -> String { self.outbox(tag: SlotTags.tag(of: slot)) }
    func outbox(tag: Int) -> String { "\(self.prefix)outbox:{\(tag)}" }
    /// How far the changes of each zone's riders have been copied to the stream of all events.
    package var eventCursors: String { "\(self.prefix)events:cursors" }
    /// Held by the gateway that copies them.
    package var eventLease: String { "\(self.prefix)events:lease" }

    // Ledger: webhooks.
    package var webhooks: String { "\(self.prefix)webhooks" }
    package func webhook(_ id: String) -> String { "\(self.prefix)webhook:{\(id)}" }
    package func lease(ofWebhook id: String) -> String { self.webhook(id) + ":lease" }
    /// Jobs and riders with waiting events, by the time of the next attempt.
    package func due(ofWebhook id: String) -> String { self.webhook(id) + ":due" }
    /// Number of failed attempts for the first waiting event of each job or rider.
    package func attempts(ofWebhook id: String) -> String { self.webhook(id) + ":attempts" }
    /// Waiting events of one job or rider, in order.
    package func waiting(of subject: String, ofWebhook id: String) -> String {
        "\(self.webhook(id)):waiting:\(subject)"
    }
    /// Events that could not be delivered.
    package func dead(ofWebhook id: String) -> String { self.webhook(id) + ":dead" }

    /// Pattern for SCAN that matches every key of the deployment.
    package var everyKey: String { "\(self.prefix)*" }
}
