// Tokens that must be rejected: each is invalid in one way, with the expected reason (RFC 8725; row S3 of the threat table).
// Except for tests of the signature, the signature is valid, so that no token is rejected by accident.

import Crypto
import CryptoExtras
import EnrouteWire
import Foundation
import Testing

@testable import Access

/// One invalid token.
struct BadToken: CustomTestStringConvertible, Sendable {
    let what: String
    let token: String
    let refusal: TokenRefusal.Reason

    init(_ what: String, _ token: String, _ refusal: TokenRefusal.Reason) {
        (self.what, self.token, self.refusal) = (what, token, refusal)
    }

    var testDescription: String { self.what }

    /// Correctly signed, with one invalid claim.
    init(_ what: String, claim name: String, _ value: String?, _ refusal: TokenRefusal.Reason) {
        self.init(what, TokenForge.token(claims: TokenForge.claims([name: value])), refusal)
    }

    /// Correctly signed by ES256, with this header.
    init(_ what: String, header: String, _ refusal: TokenRefusal.Reason) {
        self.init(what, TokenForge.token(header: header), refusal)
    }

    /// With this signature.
    init(
        _ what: String, header: String = Signer.es.header, signature: (String) throws -> Data,
        _ refusal: TokenRefusal.Reason
    ) {
        let body = TokenForge.body(header)
        self.init(what, try! "\(body).\(TokenForge.base64URL(signature(body)))", refusal)
    }
}

@Suite struct BadTokenTests {
    static let corpus = Self.spelled + Self.headers + Self.signatures + Self.claims + Self.authorizations

    @Test(arguments: Self.corpus)
    func `S3: each invalid token is rejected for its own reason`(bad: BadToken) async throws {
        let verifier = try await TokenForge.verifier()
        let refusal = #expect(throws: TokenRefusal.self) { try verifier.verify(bad.token, now: TokenForge.now) }
        #expect(refusal?.reason == bad.refusal)
    }

    @Test func `S3: every reason for rejection is tested, with several tokens of each kind`() {
        let all = Self.corpus
        #expect(all.count >= 45)
        #expect(Set(all.map(\.token)).count == all.count)
        // These do not depend on the token alone: its key may arrive with the next fetch (IssuerKeysTests), and the map
        // of roles and the ids of keys are settings (ProviderTokenTests).
        let others: Set<TokenRefusal.Reason> = [.keyUnavailable, .unmappedRole, .missingKeyID]
        #expect(Set(all.map(\.refusal)) == Set(TokenRefusal.Reason.allCases).subtracting(others))
    }

    private static let good = TokenForge.token()
    private static let parts = good.split(separator: ".").map(String.init)

    private static let spelled: [BadToken] = [
        BadToken("nothing", "", .malformed), BadToken("no dots", parts[0], .malformed),
        BadToken("two parts", "\(parts[0]).\(parts[1])", .malformed),
        BadToken("four parts", good + ".", .malformed),
        BadToken("five parts, as an encrypted one", "a.b.c.d.e", .malformed),
        BadToken("longer than 4 KiB", good + String(repeating: "A", count: 4096), .tooLong),
        BadToken("padded", good + "==", .malformed), BadToken("a space at the end", good + " ", .malformed),
        BadToken("a line break", good + "\n", .malformed),
        BadToken("the alphabet of plain base64", "\(parts[0]).\(parts[1]).+/+/", .malformed),
        BadToken("bits left over", "\(parts[0]).\(parts[1]).AB", .malformed),
        BadToken("an impossible length", "\(parts[0]).\(parts[1]).A", .malformed),
        BadToken("an empty header", ".\(parts[1]).\(parts[2])", .malformed),
        BadToken(
            "not in UTF-8",
            "\(TokenForge.base64URL(Data([0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D]))).\(parts[1]).AAAA",
            .malformed),
    ]

    private static let headers: [BadToken] = [
        BadToken("alg none, signed", header: #"{"alg":"none","kid":"es"}"#, .wrongAlgorithm),
        BadToken("alg none, without a signature", TokenForge.body(#"{"alg":"none"}"#) + ".", .wrongAlgorithm),
        BadToken("alg nOnE", TokenForge.body(#"{"alg":"nOnE","kid":"es"}"#) + ".", .wrongAlgorithm),
        BadToken("no alg", header: #"{"kid":"es"}"#, .wrongAlgorithm),
        BadToken("alg in lower case", header: #"{"alg":"es256","kid":"es"}"#, .wrongAlgorithm),
        BadToken("alg of the same key and another digest", header: #"{"alg":"ES384","kid":"es"}"#, .wrongAlgorithm),
        BadToken("alg HS512 by the secret", TokenForge.token(.hs, header: #"{"alg":"HS512"}"#), .wrongAlgorithm),
        BadToken("alg is a number", header: #"{"alg":256,"kid":"es"}"#, .malformed),
        BadToken("alg twice", header: #"{"alg":"none","alg":"ES256","kid":"es"}"#, .repeatedMember),
        BadToken("kid twice", header: #"{"alg":"ES256","kid":"es","kid":"es"}"#, .repeatedMember),
        BadToken("a name hidden by an escape", header: #"{"\u0061lg":"ES256","kid":"es"}"#, .malformed),
        BadToken("an unknown kid", header: #"{"alg":"ES256","kid":"other"}"#, .unknownKey),
        BadToken("kid in upper case", header: #"{"alg":"ES256","kid":"ES"}"#, .unknownKey),
        BadToken("kid is a path", header: #"{"alg":"HS256","kid":"../../dev/null"}"#, .unknownKey),
        BadToken("kid is SQL", header: #"{"alg":"ES256","kid":"x' UNION SELECT 'key"}"#, .unknownKey),
        BadToken("kid is a URL", header: #"{"alg":"ES256","kid":"https://evil.example/key"}"#, .unknownKey),
        BadToken("kid is empty", header: #"{"alg":"ES256","kid":""}"#, .unknownKey),
        BadToken("kid is null", header: #"{"alg":"ES256","kid":null}"#, .malformed),
        BadToken("no kid for a key that has one", header: #"{"alg":"ES256"}"#, .wrongAlgorithm),
        BadToken("the kid of another key", header: #"{"alg":"ES256","kid":"rs"}"#, .wrongAlgorithm),
        BadToken("crit", header: #"{"alg":"ES256","kid":"es","crit":["exp"],"exp":1}"#, .criticalHeader),
        BadToken("crit and b64", header: #"{"alg":"ES256","kid":"es","b64":false,"crit":["b64"]}"#, .criticalHeader),
        BadToken("crit is empty", header: #"{"alg":"ES256","kid":"es","crit":[]}"#, .criticalHeader),
        BadToken("a logout token", header: #"{"alg":"ES256","kid":"es","typ":"logout+jwt"}"#, .wrongType),
        BadToken(
            "a security event", header: #"{"alg":"ES256","kid":"es","typ":"application/SecEvent+JWT"}"#, .wrongType),
        BadToken("typ is a number", header: #"{"alg":"ES256","kid":"es","typ":1}"#, .malformed),
        BadToken("a header that is an array", header: #"["ES256"]"#, .malformed),
        BadToken("text after the header", header: Signer.es.header + "{}", .malformed),
        BadToken("a header nested too deep", header: nested, .malformed),
    ]

    private static let nested =
        #"{"alg":"ES256","kid":"es","x":"#
        + String(repeating: "[", count: 9) + String(repeating: "]", count: 9) + "}"

    private static let stranger = P256.Signing.PrivateKey()
    private static let strangersJWK = #"{"kty":"EC","crv":"P-256","x":"\#(coordinate(1))","y":"\#(coordinate(33))"}"#

    private static func coordinate(_ start: Int) -> String {
        TokenForge.base64URL(Data(Array(self.stranger.publicKey.x963Representation)[start..<start + 32]))
    }

    private static func byStranger(_ text: String) throws -> Data {
        try self.stranger.signature(for: Data(text.utf8)).rawRepresentation
    }

    private static let signatures: [BadToken] = [
        BadToken("signed by another key", signature: byStranger, .badSignature),
        BadToken(
            "contains its own key", header: #"{"alg":"ES256","kid":"es","jwk":\#(strangersJWK)}"#,
            signature: byStranger, .badSignature),
        BadToken(
            "refers to a key elsewhere", header: #"{"alg":"ES256","kid":"es","jku":"https://evil.example/jwks"}"#,
            signature: byStranger, .badSignature),
        BadToken(
            "refers to a certificate elsewhere", header: #"{"alg":"ES256","kid":"es","x5u":"https://evil.example"}"#,
            signature: byStranger, .badSignature),
        BadToken(
            "contains a certificate", header: #"{"alg":"ES256","kid":"es","x5c":["MIIB"]}"#,
            signature: byStranger, .badSignature),
        BadToken(
            "HMAC with the P-256 key's PEM", header: #"{"alg":"HS256","kid":"es"}"#,
            signature: { TokenForge.hmac($0, secret: Signer.es.publicPEM) }, .wrongAlgorithm),
        BadToken(
            "HMAC with the RSA key's PEM", header: #"{"alg":"HS256","kid":"rs"}"#,
            signature: { TokenForge.hmac($0, secret: Signer.rs.publicPEM) }, .wrongAlgorithm),
        BadToken(
            "HMAC with the P-256 key's PEM and no kid", header: #"{"alg":"HS256"}"#,
            signature: { TokenForge.hmac($0, secret: Signer.es.publicPEM) }, .badSignature),
        BadToken(
            "HMAC with an empty secret", header: Signer.hs.header, signature: { TokenForge.hmac($0, secret: "") },
            .badSignature),
        BadToken("no signature", signature: { _ in Data() }, .badSignature),
        BadToken("a signature of zeros", signature: { _ in Data(count: 64) }, .badSignature),
        BadToken("half a signature", signature: { try Signer.es.signature(of: $0).prefix(32) }, .badSignature),
        BadToken("one byte too many", signature: { try Signer.es.signature(of: $0) + [0] }, .badSignature),
        BadToken(
            "ECDSA in DER", signature: { try TokenForge.p256.signature(for: Data($0.utf8)).derRepresentation },
            .badSignature),
        BadToken(
            "RSA with PSS", header: Signer.rs.header,
            signature: {
                try TokenForge.rsa.signature(for: SHA256.hash(data: Data($0.utf8)), padding: .PSS).rawRepresentation
            }, .badSignature),
        BadToken(
            "RSA with another digest", header: Signer.rs.header,
            signature: {
                try TokenForge.rsa.signature(for: SHA512.hash(data: Data($0.utf8)), padding: .insecurePKCS1v1_5)
                    .rawRepresentation
            }, .badSignature),
        BadToken(
            "an RSA signature of zeros", header: Signer.rs.header, signature: { _ in Data(count: 256) }, .badSignature),
        BadToken(
            "an EdDSA signature of zeros", header: Signer.ed.header, signature: { _ in Data(count: 64) }, .badSignature),
        BadToken(
            "other claims under the signature",
            "\(parts[0]).\(TokenForge.base64URL(Data(TokenForge.claims(["role": #""ops""#]).utf8))).\(parts[2])",
            .badSignature),
        BadToken("claims are not read before the signature is verified", "\(parts[0]).e30.\(parts[2])", .badSignature),
    ]

    private static let claims: [BadToken] =
        ["iss", "aud", "sub", "exp", "iat", "jti", "role"].map { name in
            BadToken("without \(name)", claim: name, nil, .missingClaim)
        } + [
            BadToken("another issuer", claim: "iss", #""iss2""#, .wrongIssuer),
            BadToken("issuers in an array", claim: "iss", #"["iss"]"#, .malformed),
            BadToken("another audience", claim: "aud", #""audience""#, .wrongAudience),
            BadToken("other audiences", claim: "aud", #"["a","b"]"#, .wrongAudience),
            BadToken("no audience", claim: "aud", "[]", .wrongAudience),
            BadToken("a number among the audiences", claim: "aud", #"["aud",1]"#, .malformed),
            BadToken("a subject with a space", claim: "sub", #""a b""#, .badSubject),
            BadToken("a subject with a brace", claim: "sub", #""a}""#, .badSubject),
            BadToken("an empty subject", claim: "sub", #""""#, .badSubject),
            BadToken("an empty jti", claim: "jti", #""""#, .badTokenID),
            BadToken("B56: a jti with a space", claim: "jti", #""a b""#, .badTokenID),
            BadToken("B56: a jti with an umlaut", claim: "jti", #""ä-1""#, .badTokenID),
            BadToken("B56: a jti of a space", claim: "jti", #"" ""#, .badTokenID),
            BadToken(
                "B56: a jti longer than can be revoked", claim: "jti",
                "\"\(String(repeating: "j", count: RevocationSubject.longestToken + 1))\"", .badTokenID),
            BadToken("jti is a number", claim: "jti", "1", .malformed),
            BadToken("exp is a string", claim: "exp", #""1795000900""#, .malformed),
            BadToken("exp ends with a point", claim: "exp", "1795000900.", .malformed),
            BadToken("expired for the skew and a fraction", claim: "exp", "1794999970.9", .expired),
            BadToken("exp is endless", claim: "exp", "1e999", .malformed),
            BadToken("exp is null", claim: "exp", "null", .malformed),
            BadToken("expired for exactly the skew", claim: "exp", "1794999970", .expired),
            BadToken("expired before the epoch", claim: "exp", "-1", .expired),
            BadToken("issued in the future, beyond the skew", claim: "iat", "1795000031", .notYetValid),
            BadToken("not valid before a time beyond the skew", claim: "nbf", "1795000031", .notYetValid),
            BadToken("nbf is a string", claim: "nbf", #""1795000000""#, .malformed),
            BadToken("longer than two days", claim: "exp", "1795172801", .lifetimeTooLong),
            BadToken("the longest possible lifetime", claim: "exp", "9007199254740991", .lifetimeTooLong),
            BadToken("an unknown role", claim: "role", #""admin""#, .unknownRole),
            BadToken("a role in capitals", claim: "role", #""OPS""#, .unknownRole),
            BadToken("roles in an array", claim: "role", #"["customer"]"#, .malformed),
            BadToken(
                "a claim twice", TokenForge.token(claims: #"{"role":"customer","# + TokenForge.claims().dropFirst()),
                .repeatedMember),
            BadToken(
                "an unknown claim twice", TokenForge.token(claims: #"{"x":1,"x":1,"# + TokenForge.claims().dropFirst()),
                .repeatedMember),
            BadToken("claims that are an array", TokenForge.token(claims: "[\(TokenForge.claims())]"), .malformed),
            BadToken(
                "claims that do not end", TokenForge.token(claims: String(TokenForge.claims().dropLast())), .malformed),
            BadToken("text after the claims", TokenForge.token(claims: TokenForge.claims() + "x"), .malformed),
        ]

    private static let authorizations: [BadToken] = [
        ("a string", #""j1""#, .malformed), ("null", "null", .malformed), ("empty", "{}", .badAuthorization),
        ("jobid *", #"{"jobid":"*"}"#, .badAuthorization), ("jobid is a number", #"{"jobid":1}"#, .malformed),
        ("riderid is empty", #"{"riderid":""}"#, .badAuthorization),
        ("jobid twice", #"{"jobid":"j1","jobid":"j2"}"#, .badAuthorization),
        ("an unknown member", #"{"jobid":"j1","zoneid":"z"}"#, .badAuthorization),
    ].map { BadToken("authorization: \($0)", claim: "authorization", $1, $2) }
}
