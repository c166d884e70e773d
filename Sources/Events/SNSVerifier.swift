// Decides which SNS envelopes are genuine: those of an allowed topic, signed with the key of a certificate that SNS's own host
// serves over HTTPS. Anyone can post an envelope that names a certificate, so only hosts and paths of a known form are
// requested, only a few at a time, and certificates are cached.

internal import EnrouteWire
internal import FoundationEssentials
package import OutboundHTTP
internal import SwiftASN1
internal import X509

/// The allowed topics and the certificates that verify their signatures. One per gateway.
package actor SNSVerifier {
    /// The settings of a verifier.
    package enum Setting: Sendable { case topics, hosts, authorities }

    package typealias InvalidSetting = InvalidServiceSetting<Setting>

    /// Why an envelope is rejected.
    package enum Refusal: Error, Hashable, Sendable {
        case unknownTopic
        /// The address of the certificate or of the confirmation does not belong to SNS.
        case unknownAddress
        /// SNS does not sign with this certificate.
        case badCertificate(String)
        case badSignature
        /// Genuine, but older than the limit: it may be a replay.
        case tooOld(sentAt: String, oldestSeconds: Int)
        /// Genuine, but its time cannot be read, so its age is unknown.
        case unreadableTime
        /// The certificate or the confirmation could not be fetched; a later attempt may succeed.
        case unreachable(String)
    }

    /// Maximum number of cached certificates; a new one replaces the oldest. SNS changes its certificate about once a year.
    static let maxCertificates = 16
    /// Maximum number of certificates being fetched at the same time.
    static let maxFetches = 4
    /// How long a certificate is cached, even if it is valid for longer.
    static let maxCacheAge = Duration.seconds(24 * 3600)

    private struct CachedKey {
        let key: Certificate.PublicKey
        let until: ContinuousClock.Instant
        let notAfter: Date
    }

    /// Default maximum age of a message in seconds: SNS stops retrying after at most an hour.
    package static let usualOldestSeconds = 3600

    private let topics: Set<String>
    private let oldestSeconds: Int
    private let hosts: Set<String>
    private let authorities: [Certificate]?
    private let fetch: SNSFetcher
    private var cached: [String: CachedKey] = [:]
    private var fetching: [String: Task<CachedKey, any Error>] = [:]

    /// - Parameters:
    ///   - topics: Amazon Resource Names.
    ///   - hosts: `host` or `host:port` that certificates may come from; empty for the hosts of SNS.
    ///   - authorities: PEM file of the CAs trusted for those hosts and for the certificates; `nil` for the system's.
    ///   - longestWait: the time limit for one fetch.
    ///   - oldestSeconds: maximum age of a message; 0 for no limit.
    /// - Throws: `InvalidSetting`.
    package init(
        topics: [String], hosts: [String] = [], authorities: String? = nil, longestWait: Duration = .seconds(5),
        oldestSeconds: Int = SNSVerifier.usualOldestSeconds
    ) throws(InvalidSetting) {
        for topic in topics {
            guard topic.wholeMatch(of: /arn:[a-z-]+:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_.-]{1,256}/) != nil else {
                throw InvalidSetting(
                    .topics,
                    "contains \(topic), which is not a topic ARN such as arn:aws:sns:eu-central-1:123456789012:orders.")
            }
        }
        for host in hosts {
            let parts = host.wholeMatch(of: /[A-Za-z0-9.-]+(:(?<port>[0-9]{1,5}))?/)
            guard let parts, parts.port.map({ UInt16($0) ?? 0 }) != 0 else {
                throw InvalidSetting(
                    .hosts,
                    "contains \(host), which is not a host name, or a host name and a port such as sns.example:8443.")
            }
        }
        self.topics = Set(topics)
        self.oldestSeconds = oldestSeconds
        self.hosts = Set(hosts.map { $0.lowercased() })
        self.fetch = try SNSFetcher(authorities: authorities, longestWait: longestWait)
        guard let authorities else {
            self.authorities = nil
            return
        }
        guard let text = try? String(contentsOfFile: authorities, encoding: .utf8),
            let certificates = try? Self.certificates(text), !certificates.isEmpty
        else {
            throw InvalidSetting(
                .authorities, "names \(authorities), which contains no PEM certificate.")
        }
        self.authorities = certificates
    }

    /// Returns when the envelope is genuine; throws otherwise.
    ///
    /// - Throws: `Refusal`.
    package func check(_ message: SNSEnvelope) async throws {
        guard self.topics.contains(message.topic) else { throw Refusal.unknownTopic }
        guard let url = self.address(message.certificateURL), self.isCertificate(url) else {
            throw Refusal.unknownAddress
        }
        guard message.isSigned(by: try await self.key(url)) else { throw Refusal.badSignature }
        guard self.oldestSeconds > 0 else { return }
        guard let sentAt = message.sentAt else { throw Refusal.unreadableTime }
        guard sentAt.timeIntervalSinceNow >= -Double(self.oldestSeconds) else {
            throw Refusal.tooOld(sentAt: message.timestamp, oldestSeconds: self.oldestSeconds)
        }
    }

    /// Confirms a subscription whose envelope has been checked.
    ///
    /// - Throws: `Refusal`.
    package func confirm(_ message: SNSEnvelope) async throws {
        guard let url = message.subscribeURL.flatMap({ self.address($0) }) else { throw Refusal.unknownAddress }
        _ = try await self.fetch(url)
    }

    /// - Returns: the URL if it belongs to SNS: HTTPS, one of its hosts, no user name.
    private func address(_ text: String) -> String? {
        guard text.utf8.allSatisfy(Self.isPlain), let parts = URLComponents(string: text),
            parts.scheme?.lowercased() == "https", parts.user == nil,
            parts.password == nil, parts.fragment == nil, let host = parts.host?.lowercased()
        else { return nil }
        if self.hosts.isEmpty {
            let isOfSNS = host.wholeMatch(of: /sns\.[a-z]{2,4}(-[a-z]+)+-[0-9]{1,2}\.amazonaws\.com(\.cn)?/) != nil
            return isOfSNS && [nil, 443].contains(parts.port) ? text : nil
        }
        return self.hosts.contains(parts.port.map { "\(host):\($0)" } ?? host) ? text : nil
    }

    /// SNS's certificates have a known path; only that is requested, because a caller may control what other paths return.
    private func isCertificate(_ url: String) -> Bool {
        guard let parts = URLComponents(string: url), parts.query == nil else { return false }
        if !self.hosts.isEmpty { return parts.path.hasSuffix(".pem") }
        return parts.path.wholeMatch(of: /\/SimpleNotificationService-[0-9a-f]{8,64}\.pem/) != nil
    }

    /// Characters that every URL parser interprets in the same way.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: ":/?&=._%~+-".utf8.contains(byte)
        }
    }

    private func key(_ url: String) async throws -> Certificate.PublicKey {
        if let cached = self.cached[url], cached.until > .now, cached.notAfter > .now { return cached.key }
        if let fetching = self.fetching[url] { return try await fetching.value.key }
        guard self.fetching.count < Self.maxFetches else {
            throw Refusal.unreachable("too many certificates are being fetched")
        }
        let (fetch, authorities, isOfSNS) = (self.fetch, self.authorities, self.hosts.isEmpty)
        // Bounded by the time limit of the fetch; concurrent callers share the same task.
        let task = Task { () throws -> CachedKey in
            let leaf = try await Self.trusted(try await fetch(url), by: authorities, isOfSNS: isOfSNS)
            return CachedKey(key: leaf.publicKey, until: .now + Self.maxCacheAge, notAfter: leaf.notValidAfter)
        }
        self.fetching[url] = task
        defer { self.fetching[url] = nil }
        let found = try await task.value
        if self.cached.count >= Self.maxCertificates,
            let oldest = self.cached.min(by: { $0.value.until < $1.value.until })
        {
            self.cached[oldest.key] = nil
        }
        self.cached[url] = found
        return found.key
    }

    /// Returns the first certificate of a PEM file if it may sign messages.
    ///
    /// With configured CAs, the certificate must chain to one of them. Without, the other certificates of the file must
    /// chain to a CA of the system. A single certificate, which is what SNS publishes, cannot be chained; it is trusted
    /// because it came from SNS's host over TLS, is currently valid, and was issued to SNS.
    private static func trusted(
        _ pem: [UInt8], by authorities: [Certificate]?, isOfSNS: Bool
    ) async throws -> Certificate {
        guard let chain = try? Self.certificates(String(decoding: pem, as: UTF8.self)), let leaf = chain.first else {
            throw Refusal.badCertificate("The response contains no PEM certificate.")
        }
        guard leaf.notValidBefore <= .now, .now < leaf.notValidAfter else {
            throw Refusal.badCertificate("The certificate has expired or is not valid yet.")
        }
        if isOfSNS, !Self.names(of: leaf).contains("sns.amazonaws.com") {
            throw Refusal.badCertificate("The certificate was not issued to sns.amazonaws.com.")
        }
        guard authorities != nil || chain.count > 1 else { return leaf }
        let roots = authorities.map { CertificateStore($0) } ?? .systemTrustRoots
        var verifier = Verifier(rootCertificates: roots) { RFC5280Policy() }
        let others = CertificateStore(chain.dropFirst() + (authorities ?? []))
        guard case .validCertificate = await verifier.validate(leaf: leaf, intermediates: others) else {
            throw Refusal.badCertificate(
                "The certificate does not chain to a trusted certificate authority.")
        }
        return leaf
    }

    private static func names(of certificate: Certificate) -> [String] {
        let alternatives = (try? certificate.extensions.subjectAlternativeNames) ?? nil
        return (alternatives ?? SubjectAlternativeNames([])).compactMap { name in
            if case .dnsName(let text) = name { text.lowercased() } else { nil }
        }
    }

    private static func certificates(_ pem: String) throws -> [Certificate] {
        try PEMDocument.parseMultiple(pemString: pem).filter { $0.discriminator == "CERTIFICATE" }.map {
            try Certificate(pemDocument: $0)
        }
    }
}
