// Several jobs of one rider. Its app names them in one report, in the order of their stops; who follows the second is to be
// published when the rider comes by way of the first, and never where or whose that is.

internal import EnrouteWire
internal import LiveState
internal import NIOCore

/// What one session of a rider tells of its round. Confined to the session's loop.
final class StopSequence {
    private let store: StopSequenceStore
    /// Jobs in the order of their stops, as they were reported previous.
    var stops: [JobID] = []
    /// What was said of each job that is not first, and when.
    private var published: [JobID: (before: [JobID], at: NIODeadline)] = [:]

    /// Between two times that the same is said: twice before it would be forgotten (`StopSequenceStore.lifetime`).
    private static let renewalInterval = TimeAmount.seconds(50)

    init(store: StopSequenceStore) { self.store = store }

    /// A position was taken for the job, so it is this rider's.
    func accepted(_ job: JobID) {
        let now = NIODeadline.now()
        let before = self.stops.contains(job) ? Array(self.stops.prefix { $0 != job }) : []
        let previous = self.published[job]
        guard before != previous?.before ?? [] || previous.map({ now - $0.at > Self.renewalInterval }) ?? false else {
            return
        }
        // Jobs that are not reported any more: what was said of them is forgotten by itself.
        if self.published.count >= LocationReport.mostJobs {
            self.published = self.published.filter { self.stops.contains($0.key) }
        }
        self.published[job] = before.isEmpty ? nil : (before, now)
        // What is not kept is said again with the renewal.
        _ = self.store.store(before, before: job)
    }
}
