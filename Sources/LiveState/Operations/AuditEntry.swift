// Audit entries: who saw which job (`access`), and what happened to personal data (`audit`). An entry never contains a
// coordinate or a token. It consists of names and plain values, so redis-cli is enough to read it.

package import EnrouteWire

/// One entry of one of the two streams.
package struct AuditEntry: Sendable, Hashable {
    /// The audit streams. Each has its own maximum length, and its name is its key.
    package enum Stream: String, Sendable, CaseIterable {
        /// Who followed a job, read its position or its explanation, or watched a zone.
        case access
        /// What was erased and why, and what the gateway concluded from a rider's position. Changes of a rider's
        /// availability are not here: their scripts write them to the zone's change log.
        case audit
    }

    package struct Field: Sendable, Hashable {
        package var name: String
        package var value: String
    }

    package let stream: Stream
    package private(set) var fields: [Field]

    /// - Parameter type: what happened, as a single name.
    package init(_ stream: Stream, type: String, _ fields: KeyValuePairs<String, String>) {
        self.stream = stream
        self.fields = [Field(name: "type", value: type)] + fields.map { Field(name: $0.key, value: $0.value) }
    }

    /// The last position of a job was erased, and which rider shared it.
    ///
    /// - Parameter keys: how many keys were cleared.
    package static func erased(_ job: JobID, keys: Int, because reason: EndReason) -> AuditEntry {
        AuditEntry(.audit, type: "erased", ["job": job.text, "keys": String(keys), "reason": reason.rawValue])
    }

    /// The job was erased on request. This entry is the only trace that stays.
    ///
    /// - Parameter keys: how many keys were deleted before the record.
    package static func erased(_ job: JobID, keys: Int, by actor: PersonID) -> AuditEntry {
        AuditEntry(
            .audit, type: "erased",
            ["job": job.text, "keys": String(keys), "reason": "request", "actor": actor.text])
    }

    /// Somebody returned a job from a wrong status to the right one.
    package static func corrected(
        _ corrected: CorrectedStatus, by actor: PersonID, because reason: String
    ) -> AuditEntry {
        AuditEntry(
            .audit, type: "corrected",
            [
                "job": corrected.job.text, "from": corrected.corrected.rawValue,
                "to": corrected.event.status.rawValue, "actor": actor.text, "reason": reason,
            ])
    }

    /// A customer's note to the rider was set or removed. The entry does not contain its text.
    ///
    /// - Parameter isByLink: whether the person used a tracking link; `actor` is the job's customer then.
    package static func noted(_ job: JobID, by actor: PersonID, isByLink: Bool, isRemoved: Bool) -> AuditEntry {
        AuditEntry(
            .audit, type: "noted",
            [
                "job": job.text, "actor": actor.text, "via": isByLink ? "link" : "token",
                "note": isRemoved ? "removed" : "set",
            ])
    }

    /// Operations staff or a service wrote or removed a job's note. The entry does not contain the text, because the
    /// text must be erased with the job.
    package static func notedByOperations(_ job: JobID, isRemoved: Bool, by actor: PersonID) -> AuditEntry {
        AuditEntry(
            .audit, type: "operations_noted",
            ["job": job.text, "change": isRemoved ? "removed" : "written", "actor": actor.text])
    }

    /// The gateway derived a proximity state from a rider's position. Followers are notified, but the status does not
    /// change.
    package static func suggested(_ state: ProximityState, _ job: JobID, by rider: PersonID) -> AuditEntry {
        AuditEntry(.audit, type: "suggested", ["job": job.text, "rider": rider.text, "state": state.rawValue])
    }

    /// The gateway, not the rider, switched travel mode off.
    package static func stopped(_ job: JobID, of rider: PersonID, because reason: EndReason) -> AuditEntry {
        AuditEntry(.audit, type: "stopped", ["job": job.text, "rider": rider.text, "reason": reason.rawValue])
    }

    /// Somebody watches where the riders of a zone are.
    package static func watched(_ zone: ZoneID, by person: PersonID, role: String) -> AuditEntry {
        AuditEntry(
            .access, type: "watched", ["zone": zone.text, "person": person.text, "role": role, "position": "shown"])
    }

    /// Somebody read a job over REST and saw where its rider is.
    ///
    /// - Parameter via: `rest`, or `page` for the customer's page.
    package static func read(_ job: JobID, by person: PersonID, role: String, via: String) -> AuditEntry {
        AuditEntry(
            .access, type: "read",
            ["job": job.text, "person": person.text, "role": role, "via": via, "position": "shown"])
    }

    /// Operations staff read an explanation, which names people.
    ///
    /// - Parameters:
    ///   - subject: the job or the rider that was explained.
    ///   - via: `rest`, or `command`.
    ///   - showsPosition: whether they saw where the rider is.
    package static func explained(
        _ subject: ExplainedSubject, to person: PersonID, via: String, showsPosition: Bool = false
    ) -> AuditEntry {
        let (job, rider) =
            switch subject {
            case .job(let job): (job.text, "")
            case .rider(let rider): ("", rider.text)
            }
        return AuditEntry(
            .access, type: "explained",
            [
                "job": job, "rider": rider, "person": person.text, "role": "ops", "via": via,
                "position": showsPosition ? "shown" : "",
            ])
    }

    /// Adds where and when the entry was made.
    ///
    /// - Parameters:
    ///   - at: ms since the epoch, by the gateway's clock.
    ///   - number: unique. Two entries with the same number are one entry that was sent twice.
    package mutating func stamp(gateway: String, at: Int64, number: String) {
        self.fields += [
            Field(name: "at", value: String(at)), Field(name: "gateway", value: gateway),
            Field(name: "entry", value: number),
        ]
    }
}

/// What an explanation is about.
package enum ExplainedSubject: Sendable, Hashable {
    case job(JobID)
    case rider(PersonID)
}

/// One person's access to one job, logged when it starts and when it ends.
package struct FollowedAccess: Sendable, Hashable {
    /// The kind of credential that gave access.
    package enum Credential: String, Sendable {
        case token, ticket, link
    }

    package var job: JobID
    /// The person; with a link, the job's customer.
    package var person: PersonID
    package var role: String
    package var credential: Credential
    /// Id of the link, if there is one.
    package var link: String?
    package var session: String

    package init(job: JobID, person: PersonID, role: String, credential: Credential, link: String?, session: String) {
        self.job = job
        self.person = person
        self.role = role
        self.credential = credential
        self.link = link
        self.session = session
    }

    package var followed: AuditEntry { self.entry("followed") }
    package var left: AuditEntry { self.entry("left") }

    private func entry(_ type: String) -> AuditEntry {
        AuditEntry(
            .access, type: type,
            [
                "job": self.job.text, "person": self.person.text, "role": self.role, "via": self.credential.rawValue,
                "link": self.link ?? "", "session": self.session,
            ])
    }
}
