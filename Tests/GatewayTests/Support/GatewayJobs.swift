import Access
import Jobs
import LiveState

extension RunningGateway {
    /// The operations on jobs, as this gateway performs them.
    func jobs() -> JobService {
        let settings = self.settings.liveState
        return JobService(
            ledger: self.ledger, feed: self.feed, riders: Riders(ledger: self.client, settings: settings),
            revocations: Revocations(), notes: ValidationSummaryStore(live: self.client, settings: settings),
            settings: settings, onErased: { _, _, _ in })
    }
}
