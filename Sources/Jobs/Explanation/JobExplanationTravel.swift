// Why the rider's position is shared or not: travel mode in both Redis instances, and the fixes that arrived.

internal import EnrouteWire
internal import LiveState
internal import Redis

extension JobExplanation {
    // MARK: travel mode

    var travelSection: Explanation.Section {
        let title = "Travel mode"
        guard let record else {
            let (state, verdict) =
                self.missing(self.facts.record, .ledger) ?? (.attention, "There is no such job, so no travel mode.")
            return .init("travel", title, [], state, verdict)
        }
        var facts: [Explanation.Fact] = [
            .init("ledger", record.isTravelling ? "on" : "off", .flag(record.isTravelling))
        ]
        facts.append(self.liveFact)
        if let travel = self.facts.travel.value, travel.rider != nil { facts.append(Self.deviceFact(travel.reporter)) }
        if let deadline = record.travelDeadline {
            facts.append(.init("deadline", self.time.moment(deadline), .number(deadline)))
        }
        facts += (self.facts.conclusions.value ?? []).compactMap(self.fact)
        let (state, verdict) = self.travelVerdict(record)
        return .init("travel", title, facts, state, verdict)
    }

    private var liveFact: Explanation.Fact {
        let text =
            switch self.facts.travel {
            case .value(let travel):
                travel.rider.map { "\($0) shares the position until \(self.time.moment(travel.deadline))" }
                    ?? "switched off"
            case .absent: "no entry"
            case .malformed: "malformed"
            case .failed(let error): error.isOutage ? "unavailable" : error.reasonForStaff
            }
        return .init("live", text, .flag(self.facts.travel.value?.rider != nil))
    }

    /// Which of the rider's devices reports. The others are refused with `other_device`.
    private static func deviceFact(_ reporter: Reporter?) -> Explanation.Fact {
        guard let reporter else { return .init("device", "the next that reports", .text("")) }
        return .init("device", reporter.isNameless ? "one without a name" : reporter.text, .text(reporter.text))
    }

    private func fact(about entry: AuditStreams.StoredEntry) -> Explanation.Fact? {
        guard let type = entry.value("type"), let at = entry.value("at").flatMap({ Int64($0) }), Fix.times.contains(at)
        else { return nil }
        let detail = entry.value("reason") ?? entry.value("state") ?? ""
        guard EndReason(rawValue: detail) != nil || ProximityState(rawValue: detail) != nil else { return nil }
        let text =
            switch type {
            case "erased": "the position was erased (\(detail))"
            case "stopped": "the gateway switched travel mode off (\(detail))"
            case "suggested": "the gateway concluded from the position: \(detail)"
            default: String?.none
            }
        return text.map { .init("event", "\($0) at \(self.time.moment(at))", .number(at)) }
    }

    private func travelVerdict(_ record: JobRecord) -> (Explanation.State, String) {
        let status = "the status is \(record.status.rawValue)"
        if record.status.endOfTravel != nil {
            guard self.isFeedOpen else {
                return (.ok, "Travel mode has been off since \(self.time.moment(record.statusAt)): \(status).")
            }
            return (.attention, "The live Redis still accepts positions although \(status); gateways do not show them.")
        }
        guard let rider = record.rider else { return (.ok, "Travel mode is off: no rider is assigned.") }
        guard record.isTravelling else { return self.verdictWhenOff(record, rider) }
        switch self.facts.travel {
        case .failed(let error): return (.unknown, error.verdict(about: .live))
        case .malformed(let key):
            return (
                .attention,
                "Travel mode is on in the ledger, but \(key) is malformed: no position is accepted. Switch it on again."
            )
        case .absent:
            return (
                .attention,
                "Travel mode is on in the ledger, but the live Redis has no entry, for example because it lost its data. "
                    + "A gateway restores the entry when the rider's next report arrives or a follower is resynced."
            )
        case .value(let travel):
            guard let sharing = travel.rider else {
                return (
                    .attention,
                    "Travel mode is on in the ledger, but off in the live Redis: \(rider) has to switch it on again."
                )
            }
            guard sharing == rider else {
                return (
                    .attention,
                    "The live Redis accepts positions of \(sharing), but the job is assigned to \(rider): none is shown."
                )
            }
            guard travel.deadline > self.now else {
                return (
                    .attention,
                    "The time limit passed at \(self.time.moment(travel.deadline)); a gateway switches it off."
                )
            }
            return (.ok, "Travel mode is on until \(self.time.moment(travel.deadline)).")
        }
    }

    private var isFeedOpen: Bool { self.facts.travel.value?.rider != nil }

    private func verdictWhenOff(_ record: JobRecord, _ rider: PersonID) -> (Explanation.State, String) {
        if self.isFeedOpen {
            return (
                .attention,
                "Travel mode is off in the ledger, but the live Redis accepts positions: gateways do not show them, and "
                    + "switch it off there."
            )
        }
        guard record.status.allowsTravel else {
            let allowed = JobStatus.travelling.map(\.rawValue).joined(separator: " or ")
            return (.ok, "Travel mode cannot be on yet: the status is \(record.status.rawValue), not \(allowed).")
        }
        guard let deadline = record.travelDeadline else {
            return (.attention, "Travel mode is off: \(rider) has not switched it on.")
        }
        guard deadline > self.now else {
            return (.attention, "Travel mode has been off since \(self.time.moment(deadline)): the time limit passed.")
        }
        let stopped = self.facts.verdicts.value?.summary.wasStoppedByArrival == true
        return (
            .attention,
            stopped
                ? "Travel mode is off: the gateway switched it off when \(rider) arrived."
                : "Travel mode is off: \(rider) switched it off, and may switch it on until \(self.time.moment(deadline))."
        )
    }

    // MARK: fixes

    private struct Verdict {
        var name: String
        var count: Int
        /// `nil` if it was counted by an older gateway.
        var at: Int64?
    }

    /// The latest first.
    private var verdicts: [Verdict] {
        guard let stored = self.facts.verdicts.value else { return [] }
        return stored.summary.counts.map { Verdict(name: $0.key, count: $0.value, at: stored.lastAt[$0.key]) }
            .sorted { ($1.at ?? 0, $0.name) < ($0.at ?? 0, $1.name) }
    }

    var fixesSection: Explanation.Section {
        let title = "Fixes of the rider"
        if let (state, verdict) = self.missing(self.facts.verdicts, .live) ?? self.missing(self.facts.position, .live) {
            return .init("fixes", title, self.fixFacts, state, verdict)
        }
        guard let latest = self.verdicts.first else {
            let isExpected = self.isFeedOpen && self.record?.isTravelling == true
            return .init(
                "fixes", title, self.fixFacts, isExpected ? .attention : .ok,
                isExpected ? "No fix has arrived although travel mode is on." : "No fix has arrived.")
        }
        let when = latest.at.map { " (\(self.time.distance($0)))" } ?? ""
        guard ["accepted", "duplicate"].contains(latest.name) else {
            return .init(
                "fixes", title, self.fixFacts, .attention,
                "The latest verdict is \(latest.name)\(when): \(Self.meaning(of: latest.name)).")
        }
        guard let position = self.facts.position.value else {
            let text = "The latest fix was accepted\(when); its position has been erased or has expired."
            return .init("fixes", title, self.fixFacts, .ok, text)
        }
        let isOld = self.now - position.storedAt > self.freshness.milliseconds
        return .init(
            "fixes", title, self.fixFacts, isOld ? .attention : .ok,
            isOld
                ? "No fix has been accepted for \(ExplainedTime.span(self.now - position.storedAt))."
                : "The latest fix was accepted \(self.time.distance(position.storedAt)).")
    }

    private var fixFacts: [Explanation.Fact] {
        var facts = self.verdicts.map { verdict in
            Explanation.Fact(
                "verdict",
                "\(verdict.name): \(verdict.count)" + (verdict.at.map { ", last \(self.time.moment($0))" } ?? ""),
                .number(Int64(verdict.count)))
        }
        let summary = self.facts.verdicts.value?.summary
        if let reason = summary?.unavailable {
            facts.append(.init("unavailable", "the phone reported \(reason.rawValue)", .text(reason.rawValue)))
        }
        guard case .value(let position) = self.facts.position else {
            if case .absent = self.facts.position { facts.append(.init("position", "none is stored", .flag(false))) }
            return facts
        }
        let deadline = self.facts.travel.value?.deadline ?? .max
        let expires = min(position.storedAt + self.settings.positionLifetime.milliseconds, deadline)
        facts.append(
            .init(
                "position", "stored \(self.time.moment(position.storedAt)), expires \(self.time.distance(expires))",
                .number(position.storedAt)))
        guard self.showsPosition, let place = self.view?.snapshot.location?.fix.place else { return facts }
        facts.append(.init("lat", "\(place.latitude)", .degrees(place.latitude)))
        facts.append(.init("lon", "\(place.longitude)", .degrees(place.longitude)))
        return facts
    }

    /// What a verdict means, for people who do not know the code.
    private static func meaning(of verdict: String) -> String {
        switch verdict {
        case "held": "the place is implausible, and the next fix decides"
        case "implausible_speed": "the speed was impossible, for example because the receiver jumped"
        case "stale": "it was captured too long ago, for example while the phone had no network"
        case "future": "the phone's clock is ahead"
        case "clock": "the phone's clock is wrong; up to 10 minutes are corrected"
        case "mocked": "the phone reported that an app provides a fake location"
        case "out_of_order": "a newer fix was already shown"
        case "inaccurate": "the receiver's accuracy radius was too large"
        case "travel_mode_off": "the rider has not switched travel mode on"
        case "zero_zero": "the receiver reported latitude 0, longitude 0"
        case "out_of_range": "the coordinates are not on Earth"
        default: "it was not accepted"
        }
    }
}
