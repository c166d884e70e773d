// The explanation of a token as text and as JSON. It contains the names of claims and what the settings require. Of the
// token's values, it contains only those that the gateway compares and those that define the grant.

import Access
import EnrouteWire
import Foundation

/// The result of `enroute token inspect`.
struct TokenExplanation {
    private let unverified: UnverifiedToken?
    private let providers: [IdentityProvider]
    private let outcome: Result<Grant, TokenRefusal>
    private let now: Int64

    /// - Parameter now: seconds since the epoch.
    init(
        token: String, unverified: UnverifiedToken?, verifier: TokenVerifier, outcome: Result<Grant, TokenRefusal>,
        now: Int64
    ) {
        (self.unverified, self.outcome, self.now) = (unverified, outcome, now)
        self.providers = (try? verifier.providers(of: token)) ?? []
    }

    /// `nil` if the token is accepted.
    var refusal: TokenRefusal? {
        if case .failure(let refusal) = self.outcome { refusal } else { nil }
    }

    // MARK: text

    var text: String {
        switch self.outcome {
        case .success(let grant): self.text(grant)
        case .failure(let refusal): self.text(refusal)
        }
    }

    private func text(_ grant: Grant) -> String {
        var lines = ["The token is accepted."]
        lines.append("  person:   \(grant.person.text)")
        lines.append("  role:     \(grant.role.rawValue), which reaches \(Self.reach(grant.role))")
        lines.append("  limited:  \(Self.limits(grant))")
        lines.append("  id:       \(grant.token?.id ?? "none"), for `enroute revoke token`")
        if let expiresAt = grant.expiresAt {
            lines.append("  expires:  \(Self.time(expiresAt)), in \(expiresAt - self.now) s")
        }
        let allowed = Verb.allCases.filter(grant.allows).map(Self.words)
        lines.append("It may:\n" + allowed.map { "  \($0)" }.joined(separator: "\n"))
        let denied = Verb.allCases.compactMap { verb in
            grant.obstacle(to: verb).map { "  \(Self.words(verb)): \(Self.reason($0))" }
        }
        if !denied.isEmpty { lines.append("It may not:\n" + denied.joined(separator: "\n")) }
        lines.append("Revocations were not checked.")
        return lines.joined(separator: "\n")
    }

    private func text(_ refusal: TokenRefusal) -> String {
        var lines = ["The token is refused. \(refusal.sentence)"]
        if let advice = refusal.advice(for: self.providers) { lines.append(advice) }
        guard let token = self.unverified else { return lines.joined(separator: "\n") }
        lines.append("The token contains, not necessarily verified:")
        let (algorithm, keyID) = (Self.printable(token.algorithm), Self.printable(token.keyID))
        lines.append("  alg \(algorithm), kid \(keyID), typ \(Self.printable(token.type))")
        lines.append("  iss \(Self.printable(token.issuer))")
        if let expiresAt = token.expiresAt { lines.append("  exp \(Self.time(expiresAt))") }
        lines.append("  claims: \(token.claims.map(Self.printable).joined(separator: ", "))")
        guard !self.providers.isEmpty else { return lines.joined(separator: "\n") }
        lines.append("The settings expect:")
        lines += self.providers.map { provider in
            "  iss \(provider.issuer), \(provider.audienceClaim) \(provider.audience), person in "
                + "\(provider.personClaim), role in \(provider.roleClaim)"
        }
        return lines.joined(separator: "\n")
    }

    /// The text of an unverified token could be long, or could control a terminal.
    private static func printable(_ text: String?) -> String {
        guard let text else { return "none" }
        return String(text.prefix(200).map { $0.isASCII && $0 >= " " && $0 != "\u{7F}" ? $0 : "?" })
    }

    /// `createLink` is "create link".
    private static func words(_ verb: Verb) -> String {
        "\(verb)".reduce(into: "") { $0 += $1.isUppercase ? " \($1.lowercased())" : "\($1)" }
    }

    private static func reach(_ role: Role) -> String {
        switch role {
        case .customer: "the jobs whose customer is this person"
        case .rider: "the jobs that are assigned to this person"
        case .ops, .service: "all jobs"
        }
    }

    private static func limits(_ grant: Grant) -> String {
        let limits = [
            grant.job.map { "to the job \($0.text)" }, grant.rider.map { "to the jobs of the rider \($0.text)" },
        ].compactMap { $0 }
        return limits.isEmpty ? "no" : limits.joined(separator: " and ")
    }

    private static func reason(_ obstacle: Grant.Obstacle) -> String {
        switch obstacle {
        case .role(let roles):
            "needs the role \(roles.map(\.rawValue).alternatives)"
        case .limitedToJob: "the token is limited to one job"
        case .limitedToRider: "the token is limited to a rider's jobs"
        }
    }

    private static func time(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
    }

    // MARK: JSON

    private struct Document: Encodable {
        struct Denied: Encodable {
            let action: String
            let reason: String
        }

        var accepted: Bool
        var person: String?
        var role: String?
        var job: String?
        var rider: String?
        var tokenId: String?
        /// Seconds since the epoch.
        var issuedAt: Int64?
        /// Seconds since the epoch.
        var expiresAt: Int64?
        var allowed: [String]?
        var denied: [Denied]?
        var reason: String?
        var claim: String?
        var detail: String?
        var advice: String?
        var claims: [String]?
    }

    var json: String {
        get throws {
            var document: Document
            switch self.outcome {
            case .success(let grant):
                document = Document(
                    accepted: true, person: grant.person.text, role: grant.role.rawValue, job: grant.job?.text,
                    rider: grant.rider?.text, tokenId: grant.token?.id, issuedAt: grant.token?.issuedAt,
                    expiresAt: grant.expiresAt)
                document.allowed = Verb.allCases.filter(grant.allows).map { "\($0)" }
                document.denied = Verb.allCases.compactMap { verb in
                    grant.obstacle(to: verb).map { .init(action: "\(verb)", reason: Self.reason($0)) }
                }
            case .failure(let refusal):
                document = Document(
                    accepted: false, reason: "\(refusal.reason)", claim: refusal.claim?.description,
                    detail: refusal.sentence, advice: refusal.advice(for: self.providers),
                    claims: self.unverified?.claims)
            }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(document), as: UTF8.self)
        }
    }
}

extension [String] {
    /// `a`, `a or b`, `a, b or c`
    fileprivate var alternatives: String {
        guard let last, self.count > 1 else { return self.first ?? "" }
        return self.dropLast().joined(separator: ", ") + " or " + last
    }
}
