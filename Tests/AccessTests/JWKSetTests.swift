import Crypto
import CryptoExtras
import EnrouteWire
import Foundation
import Testing

@testable import Access

/// Keys as published by an issuer.
enum Published {
    static func set(_ keys: [String]) -> [UInt8] { Array(#"{"keys":[\#(keys.joined(separator: ","))]}"#.utf8) }

    /// - Parameter more: additional members, each with a leading comma.
    static func key(_ signer: Signer, kid: String? = nil, more: String = "") -> String {
        let name = #""kid":"\#(kid ?? signer.rawValue)""#
        switch signer {
        case .es: return self.p256(TokenForge.p256.publicKey, "\(name)\(more)")
        case .ed:
            let x = TokenForge.base64URL(TokenForge.ed25519.publicKey.rawRepresentation)
            return #"{"kty":"OKP","crv":"Ed25519","x":"\#(x)",\#(name)\#(more)}"#
        case .rs: return self.rsa(TokenForge.rsa.publicKey, "\(name)\(more)")
        case .hs: return #"{"kty":"oct","k":"c2VjcmV0",\#(name)\#(more)}"#
        }
    }

    static func p256(_ key: P256.Signing.PublicKey, _ more: String) -> String {
        let point = Array(key.x963Representation)
        let (x, y) = (TokenForge.base64URL(Data(point[1..<33])), TokenForge.base64URL(Data(point[33...])))
        return #"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)",\#(more)}"#
    }

    static func rsa(_ key: _RSA.Signing.PublicKey, _ more: String) -> String {
        let numbers = try! key.getKeyPrimitives()
        let (n, e) = (TokenForge.base64URL(numbers.modulus), TokenForge.base64URL(numbers.publicExponent))
        return #"{"kty":"RSA","n":"\#(n)","e":"\#(e)",\#(more)}"#
    }

    static let small = try! _RSA.Signing.PrivateKey(unsafeKeySize: .init(bitCount: 1024))
}

@Suite struct JWKSetTests {
    @Test func `keys of all three kinds verify tokens with their kid`() async throws {
        let set = try JWKSet(json: Published.set([.rs, .es, .ed].map { Published.key($0) }))
        let verifier = TokenVerifier(keys: try await set.verifierKeys(), issuer: "iss", audience: "aud")
        for signer in [Signer.rs, .es, .ed] {
            #expect(try verifier.verify(TokenForge.token(signer), now: TokenForge.now).person == PersonID("anna"))
            let other = TokenForge.token(signer, header: #"{"alg":"HS256","kid":"\#(signer.rawValue)"}"#)
            #expect(throws: TokenRefusal.wrongAlgorithm) { try verifier.verify(other, now: TokenForge.now) }
        }
    }

    @Test(arguments: [
        Published.key(.hs), #"{"kty":"AKP","alg":"ML-DSA-65","pub":"AA"}"#, #"{"kty":"EC","crv":"P-384","kid":"p"}"#,
        #"{"kty":"OKP","crv":"X25519","x":"AA","kid":"x"}"#, Published.key(.es, kid: "enc", more: #","use":"enc""#),
        Published.key(.rs, kid: "pss", more: #","alg":"PS256""#), "{}",
        Published.key(.es, kid: "sign", more: #","key_ops":["sign"]"#),
        #"{"kty":"foo","kid":"z","use":null}"#, #"{"kty":"AKP","kid":5,"alg":7,"key_ops":"verify"}"#, #"{"kty":1}"#,
        #"{"kty":"RSA","kid":5,"use":"enc","n":"AA","e":"AQAB"}"#,
    ])
    func `a key of an unsupported kind is skipped`(key: String) throws {
        let set = try JWKSet(json: Published.set([key, Published.key(.es)]))
        #expect(Array(set.keys.keys) == ["es"])
        #expect(throws: JWKSet.Rejection.noKeys) { try JWKSet(json: Published.set([key])) }
    }

    @Test(arguments: [
        #","use":"sig","alg":"ES256","key_ops":["verify"]"#, #","x5c":["MIIB\/"],"x5t":"AA","iat":1,"ext":true"#,
        #","use":null,"alg":null,"key_ops":null,"x5c":null"#, #","key_ops":["verify",1]"#,
    ])
    func `additional members of a key are ignored`(more: String) throws {
        #expect(try JWKSet(json: Published.set([Published.key(.es, more: more)])).keys.count == 1)
    }

    @Test(arguments: ["EdDSA", "Ed25519"]) func `an Ed25519 key has the algorithm of RFC 8037 or of RFC 9864`(
        algorithm: String
    ) async throws {
        let key = Published.key(.ed, more: #","alg":"\#(algorithm)""#)
        let set = try JWKSet(json: Published.set([key]))
        let verifier = TokenVerifier(keys: try await set.verifierKeys(), issuer: "iss", audience: "aud")
        for name in ["EdDSA", "Ed25519"] {
            let token = TokenForge.token(.ed, header: #"{"alg":"\#(name)","kid":"ed"}"#)
            #expect(try verifier.verify(token, now: TokenForge.now).person == PersonID("anna"))
        }
    }

    @Test(arguments: [
        ("", JWKSet.Rejection.malformed), ("[]", .malformed), ("{}", .malformed), (#"{"keys":{}}"#, .malformed),
        (#"{"keys":[1]}"#, .malformed), (#"{"keys":[],"keys":[]}"#, .malformed), (#"{"keys":[]}"#, .noKeys),
        (#"{"keys":[\#(Published.key(.es))]"#, .malformed),
        (#"{"keys":[\#(Published.key(.es, more: #","kid":"b""#))]}"#, .malformed),
        (#"{"keys":[\#(Published.p256(TokenForge.p256.publicKey, #""use":"sig""#))]}"#, .keyWithoutName),
        (#"{"keys":[\#(Published.key(.es, kid: ""))]}"#, .keyWithoutName),
        (#"{"keys":[\#(Published.key(.es, kid: "a")),\#(Published.key(.ed, kid: "a"))]}"#, .twoKeysOfOneName),
        (#"{"keys":[\#(Published.key(.es, more: #","d":"AA""#))]}"#, .privateKey),
        (#"{"keys":[\#(Published.rsa(Published.small.publicKey, #""kid":"a""#))]}"#, .badKey),
        (#"{"keys":[{"kty":"RSA","kid":"a","n":"AQAB","e":"AQAB"}]}"#, .badKey),
        (#"{"keys":[{"kty":"RSA","kid":"a"}]}"#, .badKey),
        (#"{"keys":[\#(Published.key(.es, more: #","use":5"#))]}"#, .badKey),
        (#"{"keys":[\#(Published.p256(TokenForge.p256.publicKey, #""kid":5"#))]}"#, .badKey),
        (#"{"keys":[\#(Published.p256(TokenForge.p256.publicKey, #""kid":null"#))]}"#, .keyWithoutName),
        (#"{"keys":[\#(Published.key(.es, more: #","key_ops":"verify""#))]}"#, .badKey),
        (#"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","x":"AAAA"}]}"#, .badKey),
        (#"{"keys":[\#(offCurve)]}"#, .badKey), (#"{"keys":[{"kty":"EC","crv":"P-256","kid":"a","x":"AA"}]}"#, .badKey),
        (String(repeating: " ", count: 65_537), .tooLong),
        (#"{"keys":[\#((0...16).map { Published.key(.es, kid: "\($0)") }.joined(separator: ","))]}"#, .tooManyKeys),
    ])
    func `an invalid set is rejected as a whole`(json: String, reason: JWKSet.Rejection) {
        #expect(throws: reason) { try JWKSet(json: Array(json.utf8)) }
        #expect("\(reason)".contains("stays in use"))
    }

    private static let offCurve =
        #"{"kty":"EC","crv":"P-256","kid":"a","x":"\#(one)","y":"\#(one)"}"#
    private static let one = TokenForge.base64URL(Data(count: 31) + [1])
}
