import Crypto
import CryptoExtras
import Foundation
import TestSupport

/// Tokens as identity providers issue them, signed with keys that the test publishes.
enum ProviderTokens {
    static let rsa = try! _RSA.Signing.PrivateKey(keySize: .bits2048)
    static let p256 = P256.Signing.PrivateKey()

    /// The published set: both keys.
    static var keySet: KeyIssuer.Answer {
        let numbers = try! self.rsa.publicKey.getKeyPrimitives()
        let point = Array(self.p256.publicKey.x963Representation)
        return .body(
            """
            {"keys":[
            {"kty":"RSA","kid":"rs","alg":"RS256","use":"sig","n":"\(self.base64URL(numbers.modulus))",
            "e":"\(self.base64URL(numbers.publicExponent))"},
            {"kty":"EC","crv":"P-256","kid":"es","use":"sig","x":"\(self.base64URL(Data(point[1..<33])))",
            "y":"\(self.base64URL(Data(point[33...])))"}]}
            """)
    }

    enum Signer: String { case rs, es }

    /// One token of a provider.
    struct Shape: Sendable {
        let name: String
        /// The heading of its settings in deploy/identity-providers.md.
        let heading: String
        var signer = Signer.rs
        var type = "JWT"
        /// The claims as JSON, without `iat` and `exp`.
        let claims: String
        var issuedAt: String?
        let person: String
        let role: String

        func token(now: Int64 = Int64(Date.now.timeIntervalSince1970)) -> String {
            let times = #""iat":\#(self.issuedAt ?? "\(now)"),"exp":\#(now + 900)"#
            return ProviderTokens.sign("{\(self.claims),\(times)}", by: self.signer, type: self.type)
        }
    }

    static func sign(_ claims: String, by signer: Signer, type: String = "JWT") -> String {
        let algorithm = signer == .rs ? "RS256" : "ES256"
        let header = #"{"alg":"\#(algorithm)","typ":"\#(type)","kid":"\#(signer.rawValue)"}"#
        let text = "\(self.base64URL(Data(header.utf8))).\(self.base64URL(Data(claims.utf8)))"
        let signature: Data
        switch signer {
        case .rs:
            signature = try! self.rsa.signature(
                for: SHA256.hash(data: Data(text.utf8)), padding: .insecurePKCS1v1_5
            ).rawRepresentation
        case .es: signature = try! self.p256.signature(for: Data(text.utf8)).rawRepresentation
        }
        return "\(text).\(self.base64URL(signature))"
    }

    static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// An id of a person that Enroute cannot use unchanged.
    static func hashed(_ id: String) -> String { "s_" + self.base64URL(Data(SHA256.hash(data: Data(id.utf8)))) }

    /// The nine token forms of the design, and a second role of the same provider if it matters.
    static let shapes: [Shape] = [
        Shape(
            name: "Auth0", heading: "Auth0", type: "at+jwt",
            claims: #"""
                "iss":"https://shop.eu.auth0.com/","sub":"auth0|64f0c1","azp":"AbCdEf","scope":"openid profile",
                "aud":["https://api.shop.example","https://shop.eu.auth0.com/userinfo"]
                """#,
            person: hashed("auth0|64f0c1"), role: "customer"),
        Shape(
            name: "Auth0 with role and jti", heading: "Auth0",
            claims: #"""
                "iss":"https://shop.eu.auth0.com/","sub":"google-oauth2|1077","aud":["https://api.shop.example"],
                "jti":"x1","https://shop.example/role":["courier","trainee"]
                """#,
            person: hashed("google-oauth2|1077"), role: "rider"),
        Shape(
            name: "Firebase", heading: "Firebase",
            claims: #"""
                "iss":"https://securetoken.google.com/shop-1234","aud":"shop-1234","sub":"9kL2mN4pQ6rS8tU0vW1xY3zA5bC7",
                "user_id":"9kL2mN4pQ6rS8tU0vW1xY3zA5bC7","role":"rider","auth_time":1795000000,
                "firebase":{"identities":{"email":["r@shop.example"]},"sign_in_provider":"password"}
                """#,
            person: "9kL2mN4pQ6rS8tU0vW1xY3zA5bC7", role: "rider"),
        Shape(
            name: "Cognito ID token", heading: "Amazon Cognito",
            claims: #"""
                "iss":"https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Ab1Cd2Ef3","aud":"1example23456789",
                "sub":"b3c4d5e6-1111-2222-3333-444455556666","token_use":"id","email_verified":true,
                "cognito:groups":["couriers"],"cognito:username":"remo"
                """#,
            person: "b3c4d5e6-1111-2222-3333-444455556666", role: "rider"),
        Shape(
            name: "Cognito access token", heading: "Amazon Cognito",
            claims: #"""
                "iss":"https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Ab1Cd2Ef3",
                "client_id":"1example23456789","sub":"b3c4d5e6-1111-2222-3333-444455556666","token_use":"access",
                "jti":"0c1d2e3f","scope":"aws.cognito.signin.user.admin","version":2,"username":"remo",
                "cognito:groups":["dispatchers","couriers"]
                """#,
            person: "b3c4d5e6-1111-2222-3333-444455556666", role: "ops"),
        Shape(
            name: "Supabase", heading: "Supabase", signer: .es,
            claims: #"""
                "iss":"https://abcdefgh.supabase.co/auth/v1","aud":"authenticated","role":"authenticated","aal":"aal1",
                "sub":"11111111-2222-3333-4444-555555555555","session_id":"s","is_anonymous":false,
                "app_metadata":{"provider":"email","providers":["email"]},"user_metadata":{"role":"courier"}
                """#,
            person: "11111111-2222-3333-4444-555555555555", role: "customer"),
        Shape(
            name: "Supabase with a role", heading: "Supabase", signer: .es,
            claims: #"""
                "iss":"https://abcdefgh.supabase.co/auth/v1","aud":"authenticated","role":"authenticated",
                "sub":"11111111-2222-3333-4444-555555555555","app_metadata":{"role":"courier"}
                """#,
            person: "11111111-2222-3333-4444-555555555555", role: "rider"),
        Shape(
            name: "Keycloak", heading: "Keycloak",
            claims: #"""
                "iss":"https://login.shop.example/realms/shop","aud":["enroute","account"],"typ":"Bearer","azp":"app",
                "sub":"8c7b0000-1111-2222-3333-444455556666","jti":"onrtac:7f1d","resource_access":{"account":{"roles":["view-profile"]}},
                "realm_access":{"roles":["offline_access","default-roles-shop","courier"]}
                """#,
            person: "8c7b0000-1111-2222-3333-444455556666", role: "rider"),
        Shape(
            name: "Clerk", heading: "Clerk",
            claims: #"""
                "iss":"https://shop.clerk.accounts.dev","aud":"enroute","sub":"user_2aBcDeFgHiJkLmNoPqRsTuVwXyZ",
                "jti":"6a5b4c3d","azp":"https://app.shop.example","role":"courier"
                """#,
            person: "user_2aBcDeFgHiJkLmNoPqRsTuVwXyZ", role: "rider"),
        Shape(
            name: "Clerk without a role", heading: "Clerk",
            claims: #"""
                "iss":"https://shop.clerk.accounts.dev","aud":"enroute","sub":"user_2aBcDeFgHiJkLmNoPqRsTuVwXyZ",
                "jti":"7a5b4c3d","azp":"https://app.shop.example","role":null
                """#,
            person: "user_2aBcDeFgHiJkLmNoPqRsTuVwXyZ", role: "customer"),
        Shape(
            name: "a backend with a fractional iat", heading: "Keycloak",
            claims: #"""
                "iss":"https://login.shop.example/realms/shop","aud":"enroute","sub":"remo","jti":"1",
                "realm_access":{"roles":["customer"]}
                """#,
            issuedAt: "\(Int64(Date.now.timeIntervalSince1970)).734512", person: "remo", role: "customer"),
    ]
}
