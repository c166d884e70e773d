// What followers see, and why; the source of the arrival time.

internal import EnrouteWire
internal import LiveState
internal import Redis

extension JobExplanation {
    /// The feed as gateways read it: without malformed entries, and without positions while it is closed.
    private var feed: JobFeed.State {
        guard let travel = self.facts.travel.value else { return JobFeed.State() }
        guard let rider = travel.rider else {
            var state = JobFeed.State()
            state.isClosed = true
            return state
        }
        let estimate = self.facts.estimate.value.flatMap { $0.fence == travel.fence ? $0.estimate : nil }
        return JobFeed.State(
            rider: rider, deadline: travel.deadline, position: self.facts.position.value?.message, eta: estimate)
    }

    /// The same value that a follower receives (`JobView`), so that the explanation cannot differ from it.
    var view: JobView? {
        self.record.map { record in
            JobView(
                JobLedger.Recovery(record: record), self.feed,
                self.facts.verdicts.value?.summary ?? ValidationSummary(), card: self.facts.riderCard.value,
                early: self.early, now: self.now, freshness: self.freshness)
        }
    }

    // MARK: followers

    var followersSection: Explanation.Section {
        let title = "What followers see"
        guard let record, let view else {
            let (state, verdict) =
                self.missing(self.facts.record, .ledger)
                ?? (.attention, "Followers see nothing: there is no such job.")
            return .init("followers", title, [], state, verdict)
        }
        let tracking = view.tracking(now: self.now, self.settings)
        var facts: [Explanation.Fact] = [.init("tracking", tracking.rawValue, .text(tracking.rawValue))]
        if let reason = view.snapshot.reason { facts.append(.init("reason", reason.rawValue, .text(reason.rawValue))) }
        facts.append(.init("status", record.status.rawValue, .text(record.status.rawValue)))
        if let at = self.facts.revocations.job {
            return .init(
                "followers", title, facts, .attention,
                "The customer, the rider and links see nothing: the job was revoked at \(self.time.moment(at)).")
        }
        if record.status.end == nil, let error = self.facts.travel.error {
            let verdict =
                error.isOutage
                ? "Followers see statuses, and that updates are delayed: the live Redis is unavailable."
                : error.verdict(about: .live)
            return .init("followers", title, facts, .unknown, verdict)
        }
        let (state, verdict) = self.followersVerdict(record, view, tracking)
        return .init("followers", title, facts, state, verdict)
    }

    private func followersVerdict(
        _ record: JobRecord, _ view: JobView, _ tracking: JobTracking
    ) -> (Explanation.State, String) {
        let age = view.snapshot.positionAgeMilliseconds.map { ExplainedTime.span($0) } ?? "unknown"
        let reason = view.unavailable.map { "; the phone reported \($0.rawValue)" } ?? ""
        let none = "Followers see no rider because"
        switch tracking {
        case .live: return (.ok, "Followers see the rider live: the position is \(age) old.")
        case .stale: return (.attention, "Followers see the last position, marked as old: it is \(age) old\(reason).")
        case .lost:
            return (
                .attention, "\(none) no position has arrived for a long time although travel mode is on\(reason)."
            )
        case .waiting:
            guard view.isTracking else { return self.waitingVerdict(record, none) }
            if let key = self.facts.position.malformedKey {
                return (.attention, "\(none) the position in \(key) is malformed; the next one replaces it.")
            }
            return (.attention, "\(none) travel mode is on, but no position has been accepted yet\(reason).")
        case .paused: return (.attention, "\(none) the rider switched travel mode off.")
        case .arrived: return (.ok, "Followers see that the rider has arrived, and no position.")
        case .ended:
            guard view.snapshot.reason == .timeLimit else {
                let since = self.time.clock(record.statusAt)
                return (.ok, "\(none) travel mode has been off since \(since) (status is \(record.status.rawValue)).")
            }
            let limit = record.travelDeadline.map { " at \(self.time.moment($0))" } ?? ""
            return (.attention, "\(none) the time limit of travel mode passed\(limit).")
        }
    }

    private func waitingVerdict(_ record: JobRecord, _ none: String) -> (Explanation.State, String) {
        if record.rider == nil { return (.ok, "\(none) no rider is assigned.") }
        guard record.status.allowsTravel else {
            return (.ok, "\(none) the status is \(record.status.rawValue): the rider is not travelling to them yet.")
        }
        if record.isTravelling {
            return (.attention, "\(none) the two Redis instances disagree about travel mode (see above).")
        }
        return (.attention, "\(none) the rider has not switched travel mode on.")
    }

    // MARK: arrival time

    var etaSection: Explanation.Section {
        let title = "Arrival time"
        if let (state, verdict) = self.missing(self.facts.estimate, .live) {
            return .init("eta", title, [], state, verdict)
        }
        guard let record else {
            let missing = self.missing(self.facts.record, .ledger) ?? (.attention, "There is no such job.")
            return .init("eta", title, [], missing.0, missing.1)
        }
        var facts: [Explanation.Fact] = []
        if let stops = self.facts.stopsBefore.value, !stops.isEmpty {
            facts.append(.init("stops_before", stops.map(\.text).listed, .number(Int64(stops.count))))
        }
        if let geocoded = record.geocoded {
            facts.append(.init("geocoding", geocoded.state.rawValue, .text(geocoded.state.rawValue)))
        }
        if let view, view.early != nil, let estimate = view.snapshot.eta, let arrivesAt = estimate.arrivesAt {
            facts += self.origin(of: estimate) + [self.arrival(at: arrivesAt)]
            return .init(
                "eta", title, facts, .ok,
                "Arrival at \(self.time.moment(arrivesAt)), estimated from the status and the distance, because the "
                    + "rider has sent no position yet.")
        }
        guard let stored = self.facts.estimate.value else {
            let (state, verdict) = self.verdictWithoutEstimate(record)
            return .init("eta", title, facts, state, verdict)
        }
        let estimate = stored.estimate
        facts += self.origin(of: estimate)
        if stored.fence != self.facts.travel.value?.fence {
            return .init(
                "eta", title, facts, .ok, "The stored arrival time belongs to an earlier travel mode and is not shown.")
        }
        guard let arrivesAt = estimate.arrivesAt else {
            let text =
                estimate.state == .unavailable
                ? "No arrival time: no provider answered and it cannot be estimated." : "It is being recalculated."
            return .init("eta", title, facts, .attention, text)
        }
        guard self.view?.snapshot.eta?.arrivesAt != nil else {
            return .init(
                "eta", title, facts, .attention, "The stored arrival time is not shown: there is no recent position.")
        }
        facts.append(self.arrival(at: arrivesAt))
        let source = estimate.source.map { $0 == "built_in" ? "straight-line distance (built_in)" : $0 } ?? "unknown"
        return .init(
            "eta", title, facts, .ok,
            "Arrival at \(self.time.moment(arrivesAt)), by \(source), calculated \(self.time.distance(estimate.at)).")
    }

    private func arrival(at time: Int64) -> Explanation.Fact {
        .init("arrives", self.time.moment(time), .number(time))
    }

    private func origin(of estimate: ArrivalEstimate) -> [Explanation.Fact] {
        var facts = [Explanation.Fact("calculated", self.time.moment(estimate.at), .number(estimate.at))]
        if let source = estimate.source { facts.append(.init("source", source, .text(source))) }
        if let confidence = estimate.confidence?.rawValue {
            facts.append(.init("confidence", confidence, .text(confidence)))
        }
        return facts
    }

    private func verdictWithoutEstimate(_ record: JobRecord) -> (Explanation.State, String) {
        if record.status.endOfTravel != nil {
            return (.ok, "No arrival time: the status is \(record.status.rawValue).")
        }
        if record.destination == nil {
            let why =
                switch record.geocoded?.isUnanswered {
                case nil: "the job has no destination"
                case true?: "its address was not looked up, because no geocoding provider answered"
                case false?: "its address could not be resolved"
                }
            return (.attention, "No arrival time: \(why).")
        }
        guard self.view?.isTracking == true else { return (.ok, "No arrival time: travel mode is not on.") }
        guard self.facts.position.value != nil else { return (.ok, "No arrival time: there is no position yet.") }
        guard self.facts.watching.followers > 0 else {
            return (.ok, "No arrival time: it is calculated only while somebody follows the job.")
        }
        return self.facts.isEstimateLeased.value == true
            ? (.ok, "No arrival time yet: a gateway is calculating it.")
            : (.attention, "No arrival time although somebody follows the job: see enroute_eta_requests_total.")
    }
}
