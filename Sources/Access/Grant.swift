// Grants: the identity and the permissions of a caller whose token or tracking link has been verified.

package import EnrouteWire

/// A role, which determines what a person or a service is allowed to do.
package enum Role: String, Sendable, CaseIterable, Codable {
    case customer, rider, ops, service
}

/// The identity and permissions behind a connection or a request, until they expire.
package struct Grant: Sendable, Hashable {
    package var person: PersonID
    package var role: Role
    /// The only job that the grant covers; `nil` for every job of this person.
    package var job: JobID?
    /// The only rider whose jobs the grant covers; `nil` for every rider.
    package var rider: PersonID?
    /// The token it was derived from, needed for revocation; `nil` for a tracking link.
    package var token: TokenIdentity?
    /// The tracking link it was derived from; `nil` for a token.
    package var link: String?
    /// Seconds since the epoch; `nil` for a session through a tracking link, which ends with its viewer lease.
    package var expiresAt: Int64?

    package init(
        person: PersonID, role: Role, job: JobID? = nil, rider: PersonID? = nil, token: TokenIdentity? = nil,
        link: String? = nil, expiresAt: Int64? = nil
    ) {
        self.person = person
        self.role = role
        self.job = job
        self.rider = rider
        self.token = token
        self.link = link
        self.expiresAt = expiresAt
    }
}

/// Identifies one token by `jti` and `iat` (RFC 7519 section 4.1). A token without `jti` has an id made of person and `iat`.
package struct TokenIdentity: Sendable, Hashable {
    package let id: String
    /// Seconds since the epoch.
    package let issuedAt: Int64

    package init(id: String, issuedAt: Int64) {
        self.id = id
        self.issuedAt = issuedAt
    }

    /// The identity of a token without `jti`. Tokens issued to the person in the same second share it and are revoked
    /// together.
    package static func id(of person: PersonID, issuedAt: Int64) -> String { "\(person.text)@\(issuedAt)" }
}

/// An action that a grant may permit.
package enum Verb: Sendable, CaseIterable {
    case followJob, readJob, createJob, eraseJob, changeStatus, correctJob, writeNote, noteJob
    case reportLocation, switchTravel, createTicket, readVerdicts
    case assignJob, createLink, revokeGrant, sendEvents
    case followPool, lookAtZones
    case beAvailable, takeTask, readRiders, describeRider, forceOffline
    case navigate
    case explainJob, explainRider
    case manageWebhooks, operateWebhooks, readWebhooks

    var isReading: Bool { self == .followJob || self == .readJob }
}

extension Grant {
    /// Returns whether the grant permits `verb`. This is the only table of permissions; everything it does not list is denied.
    ///
    /// A grant that is limited to one rider's jobs permits only reading, except to that rider: which rider has a job is
    /// known only after the job has been read.
    package func allows(_ verb: Verb) -> Bool {
        // A ticket never grants more than the grant it is made from.
        if verb == .createTicket { return true }
        guard self.rider == nil || verb.isReading || self.role == .rider && self.rider == self.person else {
            return false
        }
        return switch (self.role, verb) {
        // JobParty lists the statuses that each party may set, next to the lifecycle.
        case (_, .changeStatus): true
        case (.customer, .followJob), (.customer, .readJob), (.customer, .createLink), (.customer, .writeNote): true
        case (.rider, .followJob), (.rider, .readJob), (.rider, .reportLocation), (.rider, .switchTravel): true
        case (.rider, .takeTask), (.rider, .readVerdicts), (.rider, .navigate): true
        // Riders and the pool concern more than one job.
        case (.rider, .beAvailable): self.job == nil
        case (.ops, .readRiders), (.service, .readRiders), (.ops, .forceOffline), (.service, .forceOffline):
            self.job == nil
        case (.service, .describeRider): self.job == nil
        case (.ops, .followJob), (.ops, .readJob), (.ops, .revokeGrant), (.ops, .readVerdicts): true
        case (.service, .followJob), (.service, .readJob), (.service, .createJob), (.service, .eraseJob): true
        case (.service, .writeNote), (.service, .readVerdicts), (.service, .correctJob), (.ops, .correctJob): true
        case (.service, .noteJob), (.ops, .noteJob): true
        case (.service, .assignJob), (.service, .createLink), (.service, .revokeGrant), (.service, .sendEvents): true
        // Dispatchers decide who gets a job, and send customers their links.
        case (.ops, .assignJob), (.ops, .createLink): true
        // Explanations name everybody who follows a job, so only operations staff read them.
        case (.ops, .explainJob): true
        case (.ops, .explainRider): self.job == nil
        case (.ops, .followPool), (.service, .followPool): self.job == nil
        case (.ops, .lookAtZones), (.service, .lookAtZones): self.job == nil
        // Webhooks receive the events of all jobs. Only services decide where events are sent; operations staff may
        // resend events that an endpoint has not received.
        case (.service, .manageWebhooks), (.service, .operateWebhooks), (.ops, .operateWebhooks),
            (.service, .readWebhooks), (.ops, .readWebhooks):
            self.job == nil
        default: false
        }
    }

    /// The party on whose behalf the grant changes jobs.
    package var party: JobParty {
        switch self.role {
        case .customer: .customer
        case .rider: .rider
        case .ops: .ops
        case .service: .service
        }
    }

    /// Whether the grant is not limited to another job. For operations that change a job without reading it first.
    package func covers(_ job: JobID) -> Bool { self.job == nil || self.job == job }

    /// Whether this person may know that the job exists: it is their own, or their role sees all jobs.
    package func reaches(_ job: JobID, customer: PersonID, rider: PersonID?) -> Bool {
        guard self.covers(job), self.rider == nil || self.rider == rider else { return false }
        return switch self.role {
        case .customer: self.person == customer
        case .rider: self.person == rider
        case .ops, .service: true
        }
    }
}
