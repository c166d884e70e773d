import Crypto
import Foundation
import Testing

/// The advice of `enroute token inspect` concerns the claim that is wrong.
@Suite struct TokenAdviceTests {
    private static let secret = "a secret of at least thirty-two bytes"

    /// A token of Enroute's form with some other claims, as JSON; `nil` removes a claim.
    private static func token(_ changes: [String: String?]) -> String {
        let now = Int64(Date.now.timeIntervalSince1970)
        var claims: [String: String] = [
            "iss": #""enroute""#, "aud": #""enroute""#, "sub": #""anna""#, "role": #""customer""#, "jti": #""1""#,
            "iat": "\(now)", "exp": "\(now + 900)",
        ]
        for (name, value) in changes { claims[name] = value }
        let payload = "{" + claims.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
        let parts = [#"{"alg":"HS256","typ":"JWT"}"#, payload].map { ProviderTokens.base64URL(Data($0.utf8)) }
        let text = parts.joined(separator: ".")
        let code = HMAC<SHA256>.authenticationCode(
            for: Data(text.utf8), using: SymmetricKey(data: Data(Self.secret.utf8)))
        return "\(text).\(ProviderTokens.base64URL(Data(code)))"
    }

    private static func inspect(
        _ changes: [String: String?], _ settings: [String: String] = [:]
    ) async throws -> CommandTests.Outcome {
        let environment = settings.merging(["ENROUTE_TOKEN_SECRET": Self.secret]) { $1 }
        return try await CommandTests.run(["token", "inspect", self.token(changes)], environment: environment)
    }

    @Test func `the token of these tests is accepted when nothing is changed`() async throws {
        let outcome = try await Self.inspect([:])
        #expect(outcome.code == 0, "\(outcome)")
    }

    @Test(arguments: [
        ("exp", #""1795248617""#, "issue exp as a number of seconds since 1970: not as text"),
        ("exp", "1.795248617e9", "and without an exponent"),
        ("iat", #""1795248617""#, "issue iat as a number of seconds since 1970: not as text"),
        ("nbf", "1e9", "issue nbf as a number of seconds since 1970: not as text, and without an exponent"),
        ("jti", "7", "issue jti as text"), ("authorization", "7", "an object that contains jobid"),
    ])
    func `a time or an id of the wrong type must be corrected by the provider, not by a setting`(
        claim: String, value: String, advice: String
    ) async throws {
        let outcome = try await Self.inspect([claim: value])
        #expect(outcome.code == 65 && outcome.output.contains("Its \(claim) has the wrong type."), "\(outcome)")
        #expect(outcome.output.contains(advice), "\(outcome)")
        #expect(!outcome.output.contains("ENROUTE_TOKEN"), "\(outcome)")
    }

    @Test func `a missing exp must be corrected by the provider, too`() async throws {
        let outcome = try await Self.inspect(["exp": nil])
        #expect(outcome.code == 65 && outcome.output.contains("issue tokens with iat and exp"), "\(outcome)")
        #expect(!outcome.output.contains("ENROUTE_TOKEN"), "\(outcome)")
    }

    @Test(
        arguments: [
            ("role", #"["customer"]"#, "needs ENROUTE_TOKEN_ROLES.", "ENROUTE_TOKEN_PERSON_CLAIM"),
            ("role", nil, "set ENROUTE_TOKEN_ROLE_CLAIM.", "ENROUTE_TOKEN_PERSON_CLAIM"),
            ("sub", "7", "set ENROUTE_TOKEN_PERSON_CLAIM.", "ENROUTE_TOKEN_ROLE"),
            ("sub", nil, "set ENROUTE_TOKEN_PERSON_CLAIM.", "ENROUTE_TOKEN_ROLE"),
            ("sub", #""a|b""#, "With ENROUTE_TOKEN_PERSON_FORM=hashed, any id that is not empty", "is empty"),
        ] as [(String, String?, String, String)])
    func `the advice about the role and the person names the settings of that claim`(
        claim: String, value: String?, advice: String, other: String
    ) async throws {
        let outcome = try await Self.inspect([claim: value])
        #expect(outcome.code == 65 && outcome.output.contains(advice), "\(outcome)")
        #expect(!outcome.output.contains(other), "\(outcome)")
    }

    @Test func `an empty id is reported as empty where any other id is accepted`() async throws {
        let outcome = try await Self.inspect(["sub": #""""#], ["ENROUTE_TOKEN_PERSON_FORM": "hashed"])
        #expect(outcome.code == 65 && outcome.output.contains("sub is empty."), "\(outcome)")
        #expect(try await Self.inspect(["sub": #""a|b""#], ["ENROUTE_TOKEN_PERSON_FORM": "hashed"]).code == 0)
    }

    @Test(arguments: [
        (["--job", "visit-1"], "limited:  to the job visit-1"),
        (["--jobs-of", "rider-7"], "limited:  to the jobs of the rider rider-7"),
        (
            ["--job", "visit-1", "--jobs-of", "rider-7"],
            "limited:  to the job visit-1 and to the jobs of the rider rider-7"
        ),
        ([], "limited:  no"),
    ])
    func `enroute token makes tokens with the limits that inspect reports`(
        options: [String], limits: String
    ) async throws {
        let environment = ["ENROUTE_TOKEN_SECRET": Self.secret]
        let made = try await CommandTests.run(
            ["token", "ops-1", "--role", "ops"] + options, environment: environment)
        #expect(made.code == 0, "\(made)")
        let token = made.output.trimmingCharacters(in: .whitespacesAndNewlines)
        let outcome = try await CommandTests.run(["token", "inspect", token], environment: environment)
        #expect(outcome.code == 0 && outcome.output.contains(limits + "\n"), "\(outcome)")
    }
}
