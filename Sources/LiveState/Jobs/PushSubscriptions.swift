// The browsers that are notified when the rider of a job is near. Until then they are stored in the live instance, so a
// restart of that instance loses them. They are never written to a disk.

package import Access
internal import Crypto
package import EnrouteWire
internal import FoundationEssentials
package import NIOCore
package import Redis

/// Subscriptions in the live instance. Safe to use from any thread.
package struct PushSubscriptions: Sendable {
    /// A subscription as browsers describe it.
    package struct Subscription: Codable, Hashable, Sendable {
        package struct Keys: Codable, Hashable, Sendable {
            package var p256dh, auth: String

            package init(p256dh: String, auth: String) { (self.p256dh, self.auth) = (p256dh, auth) }
        }

        package var endpoint: String
        package var keys: Keys

        package init(endpoint: String, keys: Keys) { (self.endpoint, self.keys) = (endpoint, keys) }
    }

    /// A browser that waits, and the customer's grant with which it was added. The grant is checked again before
    /// anything is sent, because the customer may have lost access meanwhile.
    package struct Waiting: Codable, Hashable, Sendable {
        package var subscription: Subscription
        fileprivate var isByLink: Bool { self.link != nil }
        private var person: String
        private var link: String?
        private var token: String?
        private var issuedAt: Int64?
        /// When the link expires, s since the epoch.
        private var expiresAt: Int64?
        /// Until when this browser waits, ms since the epoch; `nil` if a gateway of an earlier version stored it. The
        /// key may live longer, because browsers are added later. By then, a revocation of this grant may no longer be
        /// remembered.
        private var until: Int64?

        /// - Parameter until: when the browser stops waiting, ms since the epoch.
        package init(_ subscription: Subscription, by grant: Grant, until: Int64? = nil) {
            (self.subscription, self.until) = (subscription, until)
            (self.person, self.link) = (grant.person.text, grant.link)
            self.expiresAt = grant.link == nil ? nil : grant.expiresAt
            (self.token, self.issuedAt) = (grant.token?.id, grant.token?.issuedAt)
        }

        /// Whether this person added it, with a token or a tracking link.
        package func belongs(to person: PersonID) -> Bool { self.person == person.text }

        /// Whether it still waits at this time, ms since the epoch.
        package func waits(at now: Int64) -> Bool { self.until.map { now < $0 } ?? true }

        /// The grant as far as access to one job depends on it; `nil` if the stored one is malformed.
        package func grant(for job: JobID) -> Grant? {
            guard let person = PersonID(self.person) else { return nil }
            var grant = Grant(person: person, role: .customer, job: job, link: self.link, expiresAt: self.expiresAt)
            if let token, let issuedAt { grant.token = TokenIdentity(id: token, issuedAt: issuedAt) }
            return grant.link == nil && grant.token == nil ? nil : grant
        }
    }

    /// A browser as the live instance stores it.
    package struct Stored: Sendable {
        fileprivate let text: [UInt8]
        /// `nil` if it is malformed.
        package let waiting: Waiting?

        fileprivate init(_ text: [UInt8]) {
            (self.text, self.waiting) = (text, try? JSONDecoder().decode(Waiting.self, from: Data(text)))
        }
    }

    /// Maximum number of browsers per job.
    package static let most: Int64 = 10
    /// Maximum number of browsers of link viewers, so that some remain for the job's customer.
    package static let mostByLink: Int64 = 5

    private let live: RedisClient
    private let settings: LiveStateSettings
    private var keyspace: Keyspace { self.settings.keyspace }

    /// How long a browser waits.
    package var lifetime: Duration { self.settings.pushLifetime }

    package init(live: RedisClient, settings: LiveStateSettings) {
        (self.live, self.settings) = (live, settings)
    }

    /// The result of adding a browser.
    package enum Addition: Sendable, Hashable {
        case added
        /// The job has the maximum number of browsers.
        case full
        /// The job has changed since its record was read, or was erased.
        case overtaken
    }

    /// Stores a browser. Safe to repeat.
    ///
    /// - Parameters:
    ///   - fence: of the job's record that the caller used to check the customer's access.
    ///   - outdated: browsers that have lost access. They are removed first, unless they were replaced since.
    /// - Throws: (in the future) `RedisError`.
    package func add(
        _ waiting: Waiting, to job: JobID, asOf fence: Int64, removing outdated: [Stored] = []
    ) -> EventLoopFuture<Addition> {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        guard let text = try? encoder.encode(waiting) else { preconditionFailure("texts can be encoded") }
        return self.keep(
            Array(text), endpoint: waiting.subscription.endpoint, isByLink: waiting.isByLink, of: job, fence, outdated)
    }

    /// Removes a browser. Safe to repeat. The caller checks whose it is, or access to the job.
    package func remove(endpoint: String, from job: JobID) -> EventLoopFuture<Void> {
        self.keep([], endpoint: endpoint, isByLink: false, of: job, 0, []).map { _ in }
    }

    private func keep(
        _ text: [UInt8], endpoint: String, isByLink: Bool, of job: JobID, _ fence: Int64, _ outdated: [Stored]
    ) -> EventLoopFuture<Addition> {
        let id = SHA256.hash(data: Array(endpoint.utf8)).prefix(16).hexadecimal
        return self.live.evaluate(
            Scripts.keepPush, keys: [self.keyspace.push(of: job), self.keyspace.travel(of: job)],
            arguments: [
                .text(id), .bytes(text), .integer(self.lifetime.milliseconds), .integer(Self.most),
                .integer(isByLink ? 1 : 0), .integer(Self.mostByLink), .integer(fence),
                .bytes(Array(outdated.map(\.text).joined(separator: [UInt8(ascii: "\n")]))),
            ]
        ).flatMapThrowing { answer in
            switch answer.array?.first?.integer {
            case 1: .added
            case 0: .full
            case -1: .overtaken
            default: throw RedisError.unexpectedAnswer(command: Scripts.keepPush.name)
            }
        }
    }

    /// Whether a browser waits for the rider of this job.
    package func exist(for job: JobID) -> EventLoopFuture<Bool> {
        self.live.send(["HLEN", .text(self.keyspace.push(of: job))]).map { ($0.integer ?? 0) > 0 }
    }

    /// Returns the browsers of a job.
    package func read(of job: JobID) -> EventLoopFuture<[Stored]> {
        self.live.send(["HVALS", .text(self.keyspace.push(of: job))]).map { answer in
            (answer.array ?? []).prefix(Int(Self.most)).compactMap { $0.bytes.map(Stored.init) }
        }
    }

    /// Removes the browsers of a job and returns them. Malformed ones are left out.
    package func take(from job: JobID) -> EventLoopFuture<[Waiting]> {
        self.live.evaluate(
            Scripts.takePush, keys: [self.keyspace.push(of: job)], arguments: [.integer(Self.most)]
        ).map { answer in
            (answer.array ?? []).compactMap { $0.bytes.flatMap { Stored($0).waiting } }
        }
    }
}
