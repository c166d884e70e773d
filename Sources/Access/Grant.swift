// Who somebody is and what that allows, once a token or a link has been understood.

package import EnrouteWire

/// What a person or service may do.
package enum Role: String, Sendable, CaseIterable, Codable {
    case customer, rider, ops, service
}

/// Who holds a connection, as long as it is valid.
package struct Grant: Sendable, Hashable {
    package var person: PersonID
    package var role: Role
    /// The only job it reaches; `nil` for all that are this person's.
    package var job: JobID?
    /// The only rider whose jobs it reaches; `nil` for those of any.
    package var rider: PersonID?
    /// The token it came by, to be revoked by; `nil` when it came by a tracking link.
    package var token: TokenIdentity?
    /// The tracking link it came by; `nil` when it came by a token.
    package var link: String?
    /// Seconds since the epoch; `nil` when it ends with the job (a tracking link).
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

/// Which token it was: `jti` and `iat` (RFC 7519 section 4.1).
package struct TokenIdentity: Sendable, Hashable {
    package let id: String
    /// Seconds since the epoch.
    package let issuedAt: Int64

    package init(id: String, issuedAt: Int64) {
        self.id = id
        self.issuedAt = issuedAt
    }
}

/// What can be asked for.
package enum Verb: Sendable, CaseIterable {
    case followJob, readJob, createJob, changeStatus, reportLocation, switchTravel, makeTicket, readVerdicts
    case assignJob, makeLink, revokeGrant, sendEvents
    case followPool, lookAtZones
    case beAvailable, takeTask, readRiders, describeRider, forceOffline
    case navigate

    var isReading: Bool { self == .followJob || self == .readJob }
}

extension Grant {
    /// The one table of who may do what; what is not named is denied.
    ///
    /// A grant that is narrowed to a rider's jobs changes none, unless it is that rider's: whose a job is, is known only to
    /// who reads it.
    package func allows(_ verb: Verb) -> Bool {
        // A ticket is no wider than the grant it is made for.
        if verb == .makeTicket { return true }
        guard self.rider == nil || verb.isReading || self.role == .rider && self.rider == self.person else {
            return false
        }
        return switch (self.role, verb) {
        // Which statuses each may cause is written down with the lifecycle (JobParty).
        case (_, .changeStatus): true
        case (.customer, .followJob), (.customer, .readJob), (.customer, .makeLink): true
        case (.rider, .followJob), (.rider, .readJob), (.rider, .reportLocation), (.rider, .switchTravel): true
        case (.rider, .takeTask), (.rider, .readVerdicts), (.rider, .navigate): true
        // Riders and the pool are more than a job's.
        case (.rider, .beAvailable): self.job == nil
        case (.ops, .readRiders), (.service, .readRiders), (.ops, .forceOffline), (.service, .forceOffline):
            self.job == nil
        case (.service, .describeRider): self.job == nil
        case (.ops, .followJob), (.ops, .readJob), (.ops, .revokeGrant), (.ops, .readVerdicts): true
        case (.service, .followJob), (.service, .readJob), (.service, .createJob), (.service, .readVerdicts): true
        case (.service, .assignJob), (.service, .makeLink), (.service, .revokeGrant), (.service, .sendEvents): true
        case (.ops, .followPool), (.service, .followPool): self.job == nil
        case (.ops, .lookAtZones), (.service, .lookAtZones): self.job == nil
        default: false
        }
    }

    /// As whom it changes jobs.
    package var party: JobParty {
        switch self.role {
        case .customer: .customer
        case .rider: .rider
        case .ops: .ops
        case .service: .service
        }
    }

    /// Whether it is not narrowed to another job. What changes a job without reading it asks this.
    package func covers(_ job: JobID) -> Bool { self.job == nil || self.job == job }

    /// Whether this job may be known to exist: it is theirs, or their role sees all.
    package func reaches(_ job: JobID, customer: PersonID, rider: PersonID?) -> Bool {
        guard self.covers(job), self.rider == nil || self.rider == rider else { return false }
        return switch self.role {
        case .customer: self.person == customer
        case .rider: self.person == rider
        case .ops, .service: true
        }
    }
}
