// An explanation: what is known about a job or a rider, in sections that each end with a verdict in plain English. REST returns
// it as JSON, and `enroute explain` prints it.

package import LiveState
internal import Redis

/// An explanation of a job or a rider.
package struct Explanation: Sendable, Encodable {
    package enum Subject: String, Sendable, Encodable {
        case job, rider
    }

    /// Whether a section needs attention.
    package enum State: String, Sendable, Encodable, CaseIterable {
        case ok
        /// Something prevents what people expect to see, or is about to.
        case attention
        /// It could not be read.
        case unknown
    }

    /// A fact for programs.
    package enum Value: Sendable, Hashable, Encodable {
        case text(String)
        /// A number, or a time in ms since the epoch.
        case number(Int64)
        case degrees(Double)
        case flag(Bool)

        package func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .number(let number): try container.encode(number)
            case .degrees(let degrees): try container.encode(degrees)
            case .flag(let flag): try container.encode(flag)
            }
        }
    }

    package struct Fact: Sendable, Hashable, Encodable {
        /// Stays the same between versions, for programs.
        package var name: String
        /// For people.
        package var text: String
        package var value: Value?

        package init(_ name: String, _ text: String, _ value: Value? = nil) {
            (self.name, self.text, self.value) = (name, text, value)
        }
    }

    package struct Section: Sendable, Hashable, Encodable {
        package var name: String
        package var title: String
        package var state: State
        package var verdict: String
        package var facts: [Fact]

        package init(_ name: String, _ title: String, _ facts: [Fact], _ state: State, _ verdict: String) {
            (self.name, self.title, self.facts) = (name, title, facts)
            (self.state, self.verdict) = (state, verdict)
        }
    }

    /// Why a role of Redis could not be read completely.
    package struct Failure: Sendable, Hashable, Encodable {
        package var role: RedisRole
        package var reason: String
        /// Whether the role is unavailable; `false` if it refused a command.
        package var outage: Bool
    }

    package var subject: Subject
    package var id: String
    /// When, ms since the epoch.
    package var at: Int64
    /// Whether the job or rider exists; `nil` when that is unknown.
    package var found: Bool?
    /// Whether everything could be read.
    package var complete: Bool { self.failures.isEmpty }
    package var summary: String
    package var sections: [Section]
    package var malformed: [MalformedKey]
    package var failures: [Failure]

    /// Whether a role of Redis is unavailable.
    package var isUnavailable: Bool { self.failures.contains { $0.outage } }

    package init(
        _ subject: Subject, id: String, at: Int64, found: Bool?, summary: String, sections: [Section],
        malformed: [MalformedKey], failures: [RoleFailure]
    ) {
        (self.subject, self.id, self.at, self.found, self.summary) = (subject, id, at, found, summary)
        (self.sections, self.malformed) = (sections, malformed)
        // Commands that fail for the same reason are one failure.
        self.failures = failures.reduce(into: []) { list, failure in
            let one = Failure(
                role: failure.role, reason: failure.error.reasonForStaff, outage: failure.error.isOutage)
            let isCovered = list.contains { $0.role == one.role && ($0.outage && one.outage || $0 == one) }
            if !isCovered { list.append(one) }
        }
    }

    private enum CodingKeys: String, CodingKey {
        case subject, id, at, complete, summary, sections, malformed, failures
    }

    package func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(self.subject, forKey: .subject)
        try members.encode(self.id, forKey: .id)
        try members.encode(self.at, forKey: .at)
        try members.encode(self.complete, forKey: .complete)
        try members.encode(self.summary, forKey: .summary)
        try members.encode(self.sections, forKey: .sections)
        try members.encode(self.malformed, forKey: .malformed)
        try members.encode(self.failures, forKey: .failures)
    }
}
