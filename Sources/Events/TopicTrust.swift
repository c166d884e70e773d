// Whom of those who say they are SNS to believe: an envelope of a topic that was allowed, signed with the key of a
// certificate that comes from SNS's own host by HTTPS. Anybody may post an envelope that names a certificate, so only hosts
// and paths of a known form are ever asked, few at once, and what they answered is kept.

internal import EnrouteWire
internal import FoundationEssentials
internal import SwiftASN1
internal import X509

/// Topics that may send, and what their signatures are checked with. One a gateway.
package actor TopicTrust {
    /// Why a setting can not be used; says how it should be.
    package struct Unusable: Error, CustomStringConvertible {
        package let description: String
    }

    /// Why an envelope is not acted upon.
    package enum Refusal: Error, Hashable, Sendable {
        case unknownTopic
        /// The certificate's or the confirmation's address is none of SNS.
        case foreignAddress
        /// The certificate is none that SNS signs with.
        case badCertificate(String)
        case badSignature
        /// Genuine, and sent longer ago than messages are taken: somebody may have kept it.
        case tooOld(sentAt: String, oldestSeconds: Int)
        /// The certificate, or the confirmation, could not be asked for: it may be, later.
        case notReached(String)
    }

    /// Certificates kept, at most; the oldest goes. SNS changes its own about once a year.
    static let mostCertificates = 16
    /// Certificates asked for at once, at most.
    static let mostQuestions = 4
    /// How long a certificate is kept, though it may be valid for longer.
    static let longestKept = Duration.seconds(24 * 3600)

    private struct Kept {
        let key: Certificate.PublicKey
        let until: ContinuousClock.Instant
        let notAfter: Date
    }

    /// How old a message may be, s: SNS gives a message up after at most an hour of tries.
    package static let usualOldestSeconds = 3600

    private let topics: Set<String>
    private let oldestSeconds: Int
    private let hosts: Set<String>
    private let authorities: [Certificate]?
    private let fetch: TopicFetch
    private var kept: [String: Kept] = [:]
    private var asking: [String: Task<Kept, any Error>] = [:]

    /// - Parameters:
    ///   - topics: Amazon Resource Names.
    ///   - hosts: `host` or `host:port` that certificates may come from; empty for those of SNS.
    ///   - authorities: PEM file of who vouches for those hosts and for the certificates; `nil` for the system's.
    ///   - longestWait: how long a question may take.
    ///   - oldestSeconds: how long ago a message may have been sent; 0 for no bound.
    /// - Throws: `Unusable`.
    package init(
        topics: [String], hosts: [String] = [], authorities: String? = nil, longestWait: Duration = .seconds(5),
        oldestSeconds: Int = TopicTrust.usualOldestSeconds
    ) throws(Unusable) {
        for topic in topics {
            guard topic.wholeMatch(of: /arn:[a-z-]+:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_.-]{1,256}/) != nil else {
                throw Unusable(
                    description: "ENROUTE_SNS_TOPICS names \(topic); a topic is like "
                        + "arn:aws:sns:eu-central-1:123456789012:orders.")
            }
        }
        for host in hosts {
            let parts = host.wholeMatch(of: /[A-Za-z0-9.-]+(:(?<port>[0-9]{1,5}))?/)
            guard let parts, parts.port.map({ UInt16($0) ?? 0 }) != 0 else {
                throw Unusable(
                    description:
                        "ENROUTE_SNS_CERTIFICATE_HOSTS names \(host), which would never be asked: it must be a host, "
                        + "or host:port, as in sns.example:8443.")
            }
        }
        self.topics = Set(topics)
        self.oldestSeconds = oldestSeconds
        self.hosts = Set(hosts.map { $0.lowercased() })
        self.fetch = try TopicFetch(authorities: authorities, longestWait: longestWait)
        guard let authorities else {
            self.authorities = nil
            return
        }
        guard let text = try? String(contentsOfFile: authorities, encoding: .utf8),
            let certificates = try? Self.certificates(text), !certificates.isEmpty
        else {
            throw Unusable(description: "ENROUTE_SNS_CA names \(authorities), which holds no certificate in PEM.")
        }
        self.authorities = certificates
    }

    /// Returns when the envelope is genuine.
    ///
    /// - Throws: `Refusal`.
    package func check(_ message: TopicMessage) async throws {
        guard self.topics.contains(message.topic) else { throw Refusal.unknownTopic }
        guard let url = self.address(message.certificateURL), self.isCertificate(url) else {
            throw Refusal.foreignAddress
        }
        guard message.isSigned(by: try await self.key(url)) else { throw Refusal.badSignature }
        guard message.isSent(within: self.oldestSeconds, of: .now) else {
            throw Refusal.tooOld(sentAt: message.timestamp, oldestSeconds: self.oldestSeconds)
        }
    }

    /// Confirms a subscription that was checked before.
    ///
    /// - Throws: `Refusal`.
    package func confirm(_ message: TopicMessage) async throws {
        guard let url = message.subscribeURL.flatMap({ self.address($0) }) else { throw Refusal.foreignAddress }
        _ = try await self.fetch(url)
    }

    /// - Returns: the URL, if it is one of SNS: HTTPS, one of its hosts, nobody's name before it.
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

    /// Of SNS nothing is believed but what it calls its certificates: other paths may answer what a caller wants.
    private func isCertificate(_ url: String) -> Bool {
        guard let parts = URLComponents(string: url), parts.query == nil else { return false }
        if !self.hosts.isEmpty { return parts.path.hasSuffix(".pem") }
        return parts.path.wholeMatch(of: /\/SimpleNotificationService-[0-9a-f]{8,64}\.pem/) != nil
    }

    /// Characters that every reader of URLs takes for the same.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: ":/?&=._%~+-".utf8.contains(byte)
        }
    }

    private func key(_ url: String) async throws -> Certificate.PublicKey {
        if let kept = self.kept[url], kept.until > .now, kept.notAfter > .now { return kept.key }
        if let asking = self.asking[url] { return try await asking.value.key }
        guard self.asking.count < Self.mostQuestions else {
            throw Refusal.notReached("too many certificates are being asked for")
        }
        let (fetch, authorities, isOfSNS) = (self.fetch, self.authorities, self.hosts.isEmpty)
        // Ends by itself, within the bound of the fetch; whoever waits for the same one shares it.
        let question = Task { () throws -> Kept in
            let leaf = try await Self.trusted(try await fetch(url), by: authorities, isOfSNS: isOfSNS)
            return Kept(key: leaf.publicKey, until: .now + Self.longestKept, notAfter: leaf.notValidAfter)
        }
        self.asking[url] = question
        defer { self.asking[url] = nil }
        let found = try await question.value
        if self.kept.count >= Self.mostCertificates, let oldest = self.kept.min(by: { $0.value.until < $1.value.until })
        {
            self.kept[oldest.key] = nil
        }
        self.kept[url] = found
        return found.key
    }

    /// The first certificate of a PEM file, once it is one that may sign.
    ///
    /// With authorities configured it must lead to one of them. Without, what else the file holds must lead to one of the
    /// system's; a certificate that stands alone, as SNS publishes its own, leads nowhere by itself, and is believed because
    /// it came from SNS's host over TLS, is valid now, and is made out to SNS.
    private static func trusted(
        _ pem: [UInt8], by authorities: [Certificate]?, isOfSNS: Bool
    ) async throws -> Certificate {
        guard let chain = try? Self.certificates(String(decoding: pem, as: UTF8.self)), let leaf = chain.first else {
            throw Refusal.badCertificate("The answer holds no certificate in PEM.")
        }
        guard leaf.notValidBefore <= .now, .now < leaf.notValidAfter else {
            throw Refusal.badCertificate("The certificate is not valid at this time.")
        }
        if isOfSNS, !Self.names(of: leaf).contains("sns.amazonaws.com") {
            throw Refusal.badCertificate("The certificate is not made out to sns.amazonaws.com.")
        }
        guard authorities != nil || chain.count > 1 else { return leaf }
        let roots = authorities.map { CertificateStore($0) } ?? .systemTrustRoots
        var verifier = Verifier(rootCertificates: roots) { RFC5280Policy() }
        let others = CertificateStore(chain.dropFirst() + (authorities ?? []))
        guard case .validCertificate = await verifier.validate(leaf: leaf, intermediates: others) else {
            throw Refusal.badCertificate("The certificate is of no authority of the system or of ENROUTE_SNS_CA.")
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
