// A rider with several jobs. Its app lists them in one report, in the order of their stops. A follower of a later stop
// is informed that the rider makes other stops first, but never where or for whom.

internal import EnrouteWire
internal import LiveState
internal import NIOCore

/// The stops that one rider reports. Confined to the rider's loop.
final class StopSequence {
    private let store: StopSequenceStore
    /// The jobs of the last report, in the order of their stops.
    var stops: [JobID] = []
    /// What was stored for each job that is not first, and when.
    private var published: [JobID: (before: [JobID], at: NIODeadline)] = [:]

    /// The interval at which an unchanged sequence is stored again. Short enough for two attempts before it expires
    /// (`StopSequenceStore.lifetime`).
    private static let renewalInterval = TimeAmount.seconds(50)

    init(store: StopSequenceStore) { self.store = store }

    /// A position of the job was accepted, so the job is assigned to this rider.
    func accepted(_ job: JobID) {
        let now = NIODeadline.now()
        let before = self.stops.contains(job) ? Array(self.stops.prefix { $0 != job }) : []
        let previous = self.published[job]
        guard before != previous?.before ?? [] || previous.map({ now - $0.at > Self.renewalInterval }) ?? false else {
            return
        }
        // Jobs that are no longer reported are removed. What was stored for them expires.
        if self.published.count >= LocationReport.maxJobs {
            self.published = self.published.filter { self.stops.contains($0.key) }
        }
        self.published[job] = before.isEmpty ? nil : (before, now)
        // If this fails, the renewal stores it again.
        _ = self.store.store(before, before: job)
    }
}
