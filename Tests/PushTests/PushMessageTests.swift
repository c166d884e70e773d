import Access
import Crypto
import Foundation
import TestSupport
import Testing

@testable import Push

/// How a push message is encrypted and signed.
@Suite struct PushMessageTests {
    private static let browser = (
        key: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        secret: "BTBZMqHH6r4Tts7J_aSIgg"
    )

    private static func bytes(_ text: String) -> [UInt8]? { [UInt8](base64URL: Array(text.utf8)[...]) }

    private static func address(_ endpoint: String = "https://push.example/1") throws -> PushAddress {
        try PushAddress(endpoint: endpoint, p256dh: browser.key, auth: browser.secret)
    }

    @Test func `a message is encrypted as in the example of RFC 8291`() throws {
        let key = try P256.KeyAgreement.PrivateKey(
            rawRepresentation: #require(Self.bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")))
        let body = try Self.address().encrypted(
            Array("When I grow up, I want to be a watermelon".utf8), with: key,
            salt: #require(Self.bytes("DGv6ra1nlYgDCS1FRnbzlw")))
        #expect(
            Base64URL.text(body)
                == "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8w"
                + "EqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN")
    }

    @Test func `two messages never have the same key and salt`() throws {
        let address = try Self.address()
        let (one, other) = (try address.encrypted([1, 2, 3]), try address.encrypted([1, 2, 3]))
        #expect(one.prefix(16) != other.prefix(16) && one.dropFirst(16) != other.dropFirst(16))
    }

    @Test(arguments: [
        (("http://push.example/1", browser.key, browser.secret), "endpoint must start with https://."),
        (("https://u@push.example/1", browser.key, browser.secret), "endpoint must not contain a user"),
        (("https://push.example/1", "BCVx", browser.secret), "keys.p256dh must be"),
        (("https://push.example/1", browser.key, "BTBZ"), "keys.auth must be 16 bytes"),
        (("https://push.example/1", browser.key, "not base64!"), "keys.auth must be 16 bytes"),
    ])
    func `an invalid subscription is refused with the reason`(parts: (String, String, String), reason: String) throws {
        let error = try #require(throws: PushAddress.Invalid.self) {
            try PushAddress(endpoint: parts.0, p256dh: parts.1, auth: parts.2)
        }
        #expect(error.description.hasPrefix(reason), "\(error)")
    }

    @Test func `a request is signed for its push service, with the key that browsers were given`() throws {
        let signing = P256.Signing.PrivateKey()
        let key = try PushKey(pem: signing.pemRepresentation, contact: "mailto:ops@example.com")
        #expect(Self.bytes(key.publicKey) == Array(signing.publicKey.x963Representation))
        let address = try Self.address("https://push.example:8443/1")
        let header = try key.authorization(for: address.origin, now: 1_800_000_000)
        let match = try #require(header.wholeMatch(of: /vapid t=([\w-]+)\.([\w-]+)\.([\w-]+), k=([\w-]+)/))
        #expect(String(match.4) == key.publicKey)
        let claims = String(decoding: try #require(Self.bytes(String(match.2))), as: UTF8.self)
        #expect(
            claims == #"{"aud":"https://push.example:8443","exp":1800043200,"sub":"mailto:ops@example.com"}"#)
        let signature = try P256.Signing.ECDSASignature(
            rawRepresentation: #require(Self.bytes(String(match.3))))
        #expect(signing.publicKey.isValidSignature(signature, for: Array("\(match.1).\(match.2)".utf8)))
    }

    @Test func `a text that is not a P-256 key is refused, with the command that creates one`() throws {
        let error = try #require(throws: PushKey.Invalid.self) { try PushKey(pem: "x", contact: "mailto:a@b.example") }
        #expect(error.description.contains("openssl ecparam"))
    }

    @Test(arguments: [
        ("mailto:ops@example.com", true), ("https://example.com/contact", true), ("mailto:ops", false),
        ("ops@example.com", false), ("https://exa\"mple.com", false), ("http://example.com", false),
    ])
    func `a contact is an e-mail address or an https URL`(text: String, isContact: Bool) {
        #expect(PushKey.isContact(text) == isContact)
    }
}
