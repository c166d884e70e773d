// What is written down for later: who followed which job (`access`), and what was done to somebody's traces (`audit`). Never
// a coordinate, never a token. An entry is names and words, so that a reader needs nothing but redis-cli.

package import EnrouteWire

/// One entry of one of the two streams.
package struct AuditEntry: Sendable, Hashable {
    /// Each has a bound of its own; the name is the key.
    package enum Stream: String, Sendable, CaseIterable {
        /// Who followed which job.
        case access
        /// What was erased, and why; and what a rider's place led to without anybody's word. That is a job's and of its
        /// traces: what changes a rider's availability is written by the scripts that change it, beside the rider.
        case audit
    }

    package struct Field: Sendable, Hashable {
        package var name: String
        package var value: String
    }

    package let stream: Stream
    package private(set) var fields: [Field]

    /// - Parameter type: what happened, one word.
    package init(_ stream: Stream, type: String, _ fields: KeyValuePairs<String, String>) {
        self.stream = stream
        self.fields = [Field(name: "type", value: type)] + fields.map { Field(name: $0.key, value: $0.value) }
    }

    /// The last position and who shared it are gone.
    ///
    /// - Parameter keys: how many keys held something.
    package static func erased(_ job: JobID, keys: Int, because reason: EndReason) -> AuditEntry {
        AuditEntry(.audit, type: "erased", ["job": job.text, "keys": String(keys), "reason": reason.rawValue])
    }

    /// A rider's place suggested something, which is told and is no status.
    package static func suggested(_ state: ProximityState, _ job: JobID, by rider: PersonID) -> AuditEntry {
        AuditEntry(.audit, type: "suggested", ["job": job.text, "rider": rider.text, "state": state.rawValue])
    }

    /// Travel mode was switched off by the gateway, and not by the rider.
    package static func stopped(_ job: JobID, of rider: PersonID, because reason: EndReason) -> AuditEntry {
        AuditEntry(.audit, type: "stopped", ["job": job.text, "rider": rider.text, "reason": reason.rawValue])
    }

    /// Says where and when it was noted.
    ///
    /// - Parameters:
    ///   - at: ms since the epoch, by the gateway's clock.
    ///   - number: no other entry has it; two with one number are the same one, sent twice.
    package mutating func sign(gateway: String, at: Int64, number: String) {
        self.fields += [
            Field(name: "at", value: String(at)), Field(name: "gateway", value: gateway),
            Field(name: "entry", value: number),
        ]
    }
}

/// Somebody's following of one job, as it is written down when it begins and when it ends.
package struct FollowedAccess: Sendable, Hashable {
    /// What somebody came by.
    package enum Way: String, Sendable {
        case token, ticket, link
    }

    package var job: JobID
    /// By a link: the customer whose job it is.
    package var person: PersonID
    package var role: String
    package var way: Way
    /// Id of the link.
    package var link: String?
    package var session: String

    package init(job: JobID, person: PersonID, role: String, way: Way, link: String?, session: String) {
        self.job = job
        self.person = person
        self.role = role
        self.way = way
        self.link = link
        self.session = session
    }

    package var followed: AuditEntry { self.entry("followed") }
    package var left: AuditEntry { self.entry("left") }

    private func entry(_ type: String) -> AuditEntry {
        AuditEntry(
            .access, type: type,
            [
                "job": self.job.text, "person": self.person.text, "role": self.role, "via": self.way.rawValue,
                "link": self.link ?? "", "session": self.session,
            ])
    }
}
