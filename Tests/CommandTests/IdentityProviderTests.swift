import Embedded
import Foundation
import Subprocess
import TestSupport
import Testing

/// The settings of deploy/identity-providers.md with tokens as these services issue them: `enroute token inspect` fetches the
/// keys from an HTTPS server and verifies with the gateway's own verifier.
@Suite(.needsMachine(for: .faults)) struct IdentityProviderTests {
    private static let guide = try! String(
        contentsOf: Checkout.root.appending(path: "deploy/identity-providers.md"), encoding: .utf8)

    /// The first block of a language below a heading.
    private static func block(_ language: String, below heading: String) throws -> String {
        let section = try #require(self.guide.components(separatedBy: "\n## \(heading)\n").dropFirst().first)
        let block = section.components(separatedBy: "```\(language)\n").dropFirst().first
        return try #require(block?.components(separatedBy: "\n```").first, "\(heading) has no block of \(language)")
    }

    /// The output of `enroute token inspect --json` for a token.
    private static func inspect(_ token: String, _ settings: [String: String]) async throws -> (
        outcome: CommandTests.Outcome, members: [String: Any]
    ) {
        let outcome = try await CommandTests.run(["token", "inspect", "--json", token], environment: settings)
        let object = try? JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
        #expect(!outcome.all.contains(token), "the token is never printed")
        return (outcome, object as? [String: Any] ?? [:])
    }

    /// The settings that the guide has below a heading, with the test's issuer of keys.
    private static func settings(
        _ heading: String, _ issuer: KeyIssuer, in folder: String
    ) throws -> [String: String] {
        let text = try self.block("ini", below: heading)
        guard text.hasPrefix("[") else {
            let file = text.split(separator: "\n").map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
            var settings = Dictionary(uniqueKeysWithValues: file.map { ($0[0], $0[1]) })
            #expect(settings["ENROUTE_TOKEN_JWKS_URL"]?.hasPrefix("https://") == true)
            settings["ENROUTE_TOKEN_JWKS_URL"] = issuer.url
            settings["ENROUTE_TOKEN_JWKS_CA_FILE"] = issuer.authorities
            return settings
        }
        let path = "\(folder)/\(UUID()).ini"
        let sections = text.replacing(
            /(?m)^JWKS_URL=https:.*$/, with: "JWKS_URL=\(issuer.url)\nJWKS_CA_FILE=\(issuer.authorities)")
        try sections.write(toFile: path, atomically: true, encoding: .utf8)
        return ["ENROUTE_TOKEN_PROVIDERS_FILE": path]
    }

    @Test func `the token of each provider is accepted with the settings of the guide`() async throws {
        #expect(ProviderTokens.shapes.count >= 9)
        try await TemporaryFolder.holding("enroute-providers") { folder in
            try await KeyIssuer.running(ProviderTokens.keySet) { issuer in
                for shape in ProviderTokens.shapes {
                    let settings = try Self.settings(shape.heading, issuer, in: folder)
                    let (outcome, members) = try await Self.inspect(shape.token(), settings)
                    #expect(outcome.code == 0, "\(shape.name): \(outcome)")
                    #expect(members["person"] as? String == shape.person, "\(shape.name)")
                    #expect(members["role"] as? String == shape.role, "\(shape.name)")
                    // And by the settings of no other provider.
                    for other in ["Auth0", "Firebase"] where other != shape.heading {
                        let refused = try await Self.inspect(
                            shape.token(), try Self.settings(other, issuer, in: folder))
                        #expect(refused.outcome.code == 65)
                        // Both settings accept RS256 only.
                        #expect(
                            refused.members["reason"] as? String
                                == (shape.signer == .rs ? "wrongIssuer" : "wrongAlgorithm"))
                    }
                }
                #expect(issuer.asked.count >= ProviderTokens.shapes.count)
            }
        }
    }

    @Test func `several providers are distinguished by their issuer, each with its own roles`() async throws {
        try await TemporaryFolder.holding("enroute-providers") { folder in
            try await KeyIssuer.running(ProviderTokens.keySet) { issuer in
                let settings = try Self.settings("Several providers", issuer, in: folder)
                let firebase = #""iss":"https://securetoken.google.com/shop-1234","aud":"shop-1234","sub":"anna""#
                let keycloak = #""iss":"https://login.shop.example/realms/shop","aud":"enroute","sub":"remo","jti":"1""#
                let roles = #""realm_access":{"roles":["courier"]}"#
                let anna = ProviderTokens.Shape(
                    name: "", heading: "", claims: "\(firebase),\"role\":\"ops\",\(roles)", person: "", role: "")
                #expect(try await Self.inspect(anna.token(), settings).members["role"] as? String == "customer")
                let remo = ProviderTokens.Shape(
                    name: "", heading: "", claims: "\(keycloak),\(roles)", person: "", role: "")
                #expect(try await Self.inspect(remo.token(), settings).members["role"] as? String == "rider")
                // Keycloak's section requires jti, and its audience is not Firebase's.
                let bare = keycloak.replacing(#","jti":"1""#, with: "")
                for (claims, claim) in [
                    (bare + "," + roles, "jti"), (keycloak, "realm_access.roles"),
                    (keycloak.replacing("enroute", with: "shop-1234") + "," + roles, "aud"),
                ] {
                    let shape = ProviderTokens.Shape(name: "", heading: "", claims: claims, person: "", role: "")
                    let refused = try await Self.inspect(shape.token(), settings)
                    #expect(refused.outcome.code == 65 && refused.members["claim"] as? String == claim, "\(refused)")
                    #expect(refused.members["advice"] as? String != nil)
                }
            }
        }
    }

    @Test func `providers with the same key set fetch it once`() async throws {
        try await TemporaryFolder.holding("enroute-providers") { folder in
            try await KeyIssuer.running(ProviderTokens.keySet) { issuer in
                let settings = try Self.settings("Amazon Cognito", issuer, in: folder)
                for shape in ProviderTokens.shapes where shape.heading == "Amazon Cognito" {
                    let before = issuer.asked.count
                    let (outcome, _) = try await Self.inspect(shape.token(), settings)
                    #expect(outcome.code == 0, "\(shape.name): \(outcome)")
                    #expect(issuer.asked.count == before + 1, "\(shape.name)")
                }
            }
        }
    }

    @Test func `the eight lines of code for a backend sign a token that is accepted`() async throws {
        try await TemporaryFolder.holding("enroute-providers") { folder in
            let script = try Self.block("js", below: "A backend of your own")
            #expect(script.split(separator: "\n").count == 8)
            try script.write(toFile: "\(folder)/backend.mjs", atomically: true, encoding: .utf8)
            let keys = try Self.block("sh", below: "A backend of your own")
            let print = "import('./backend.mjs').then(({tokenOf}) => console.log(tokenOf('orders', 'service')))"
            let commands =
                "cd '\(folder)'; (\(keys)) > /dev/null 2>&1; export TOKEN_KEY=\"$(cat backend-key.pem)\"; "
                + "node -e \"\(print)\""
            let signed = try await Subprocess.run(
                .name("bash"), arguments: ["-ec", commands], output: .string(limit: 65_536), error: .combinedWithOutput)
            let token = signed.standardOutput.trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(signed.terminationStatus.isSuccess, "\(token)")
            var settings: [String: String] = [:]
            for line in try Self.block("ini", below: "A backend of your own").split(separator: "\n") {
                let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
                settings[parts[0]] = parts[1].replacing("/etc/enroute", with: folder)
            }
            let (outcome, members) = try await Self.inspect(token, settings)
            #expect(outcome.code == 0 && members["person"] as? String == "orders", "\(outcome)")
            #expect(members["role"] as? String == "service")
            #expect((members["allowed"] as? [String])?.contains("createJob") == true)
        }
    }

    @Test func `every line that computes the id of a person prints the id that the gateway uses`() async throws {
        let commands = try #require(
            Self.guide.components(separatedBy: "### Ids of people").last?.components(separatedBy: "```sh\n").dropFirst()
                .first?.components(separatedBy: "\n```").first)
        let lines = commands.split(separator: "\n").map(String.init)
        #expect(lines.count == 3)
        for line in lines {
            let outcome = try await Subprocess.run(
                .name("bash"), arguments: ["-ec", line], output: .string(limit: 1024), error: .combinedWithOutput)
            let printed = outcome.standardOutput.trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(printed == ProviderTokens.hashed("auth0|64f0c1"), "\(line)")
            #expect(Self.guide.contains("prints `\(printed)`"))
        }
    }

    // MARK: enroute token inspect

    private static let secret = ["ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes"]

    @Test func `inspect lists what a token permits and why it does not permit more`() async throws {
        let made = try await CommandTests.run(["token", "remo", "--role", "rider"], environment: Self.secret)
        let token = made.output.trimmingCharacters(in: .whitespacesAndNewlines)
        let outcome = try await CommandTests.run(["token", "inspect", token], environment: Self.secret)
        #expect(outcome.code == 0 && outcome.error.isEmpty, "\(outcome)")
        for expected in [
            "The token is accepted.", "person:   remo", "role:     rider", "  report location\n", "limited:  no",
            "  create job: needs the role service\n",
        ] { #expect(outcome.output.contains(expected), "\(outcome.output)") }
        #expect(!outcome.output.contains(token.split(separator: ".")[2]))
        // As standard input, also in the form of a header.
        for form in ["\(token)\n", "Bearer \(token)", "Authorization: Bearer \(token)\r\n"] {
            let read = try await Subprocess.run(
                .path(.init(CommandTests.binary)), arguments: ["token", "inspect", "--json"],
                environment: .custom(["ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes"]),
                input: .string(form), output: .string(limit: 65_536), error: .combinedWithOutput)
            #expect(read.terminationStatus.isSuccess && read.standardOutput.contains(#""accepted" : true"#))
        }
    }

    @Test func `inspect has an exit code for each outcome, and names the setting to compare`() async throws {
        let token = ProviderTokens.sign(#"{"iss":"enroute","aud":"enroute"}"#, by: .es)
        let refused = try await CommandTests.run(["token", "inspect", token], environment: Self.secret)
        #expect(refused.code == 65 && refused.output.contains("kid does not match"), "\(refused)")
        #expect(refused.output.contains("ENROUTE_TOKEN_JWKS_URL") && refused.output.contains("iss enroute"))
        let forged = ProviderTokens.sign(#"{"iss":"\u001b[31mred\n"}"#, by: .es)
        let escaped = try await CommandTests.run(["token", "inspect", forged], environment: Self.secret)
        #expect(escaped.output.contains("iss ?[31mred?\n"), "\(escaped.output)")
        let garbage = try await CommandTests.run(["token", "inspect", "garbage"], environment: Self.secret)
        #expect(garbage.code == 65 && !garbage.all.contains("garbage"), "\(garbage)")
        let nothing = try await CommandTests.run(["token", "inspect", token])
        #expect(nothing.code == 78 && nothing.error.contains("No token verification key is set"), "\(nothing)")
        let silent = ["ENROUTE_TOKEN_JWKS_URL": "https://127.0.0.1:1/keys"]
        #expect(try await CommandTests.run(["token", "inspect", token], environment: silent).code == 69)
    }

    @Test func `where keys have ids, a token made without --kid is refused with the option to add`() async throws {
        try await TemporaryFolder.holding("enroute-providers") { folder in
            let key = ProviderTokens.p256
            try key.pemRepresentation.write(toFile: "\(folder)/key.pem", atomically: true, encoding: .utf8)
            try key.publicKey.pemRepresentation.write(
                toFile: "\(folder)/public.pem", atomically: true, encoding: .utf8)
            let settings = [
                "ENROUTE_TOKEN_PUBLIC_KEY_FILES": "\(folder)/public.pem", "ENROUTE_TOKEN_KEY_IDS": "k1",
            ]
            for (options, code) in [([], 65), (["--kid", "k1"], 0)] as [([String], Int32)] {
                let made = try await CommandTests.run(
                    ["token", "remo", "--role", "rider", "--key", "\(folder)/key.pem"] + options, environment: settings)
                let token = made.output.trimmingCharacters(in: .whitespacesAndNewlines)
                let outcome = try await CommandTests.run(["token", "inspect", token], environment: settings)
                #expect(outcome.code == code, "\(outcome)")
                #expect(code == 0 || outcome.output.contains("It has no kid, but every configured key has one."))
                #expect(code == 0 || outcome.output.contains("`enroute token --key` writes the id that --kid names"))
            }
        }
    }

    // MARK: settings

    private static let bad: [([String: String], String)] = [
        (["ENROUTE_TOKEN_ROLE_CLAIM": "a..b"], "ENROUTE_TOKEN_ROLE_CLAIM is a..b; it must be the path of a claim"),
        (["ENROUTE_TOKEN_PERSON_CLAIM": "a b"], "ENROUTE_TOKEN_PERSON_CLAIM is a b"),
        (["ENROUTE_TOKEN_AUDIENCE_CLAIM": "."], "ENROUTE_TOKEN_AUDIENCE_CLAIM is ."),
        (["ENROUTE_TOKEN_JOB_CLAIM": "\\"], "ENROUTE_TOKEN_JOB_CLAIM is \\"),
        (["ENROUTE_TOKEN_RIDER_CLAIM": "a.b.c.d.e.f"], "ENROUTE_TOKEN_RIDER_CLAIM is a.b.c.d.e.f"),
        (["ENROUTE_TOKEN_ROLES": "courier"], "ENROUTE_TOKEN_ROLES contains courier; each entry must be value:role"),
        (["ENROUTE_TOKEN_ROLES": "courier:driver"], "The roles are customer, rider, ops, service."),
        (["ENROUTE_TOKEN_DEFAULT_ROLE": "ops"], "ENROUTE_TOKEN_DEFAULT_ROLE is ops; it must be one of"),
        (["ENROUTE_TOKEN_PERSON_FORM": "hash"], "ENROUTE_TOKEN_PERSON_FORM is hash; it must be plain or hashed"),
        (["ENROUTE_TOKEN_JTI": "no"], "ENROUTE_TOKEN_JTI is no; it must be required or optional"),
        (["ENROUTE_TOKEN_ALGORITHMS": "none"], "ENROUTE_TOKEN_ALGORITHMS contains none"),
        (["ENROUTE_TOKEN_TYPE": "at jwt"], "ENROUTE_TOKEN_TYPE is at jwt"),
        (
            ["ENROUTE_TOKEN_PROVIDERS_FILE": "/no.ini"],
            "ENROUTE_TOKEN_PROVIDERS_FILE names /no.ini, which cannot be read"
        ),
    ]

    @Test(arguments: bad.indices) func `a wrong setting of a provider is reported by name`(index: Int) async throws {
        let (settings, said) = Self.bad[index]
        let outcome = try await CommandTests.run(
            ["token", "inspect", "x"], environment: Self.secret.merging(settings) { $1 })
        #expect(outcome.code == 78 && outcome.error.contains(said), "\(outcome)")
    }

    private static let badFiles: [(text: String, said: String)] = [
        ("", "has no provider"), ("# nothing\n", "has no provider"),
        ("ISSUER=a\n[a]\n", "line 1: a setting before the first section"),
        (
            "[a]\nISSUER=a\nAUDIENCE=b\nROLE_CLAM=x\n",
            "line 4: ROLE_CLAM is not a setting of a provider. Did you mean ROLE_CLAIM?"
        ),
        ("[a]\nISSUER=a\nAUDIENCE=b\nENROUTE_TOKEN_ROLES=x\n", "ENROUTE_TOKEN_ROLES is not a setting of a provider"),
        ("[a]\nISSUER=a\n", "[a]: AUDIENCE is not set"), ("[a]\nAUDIENCE=a\n", "[a]: ISSUER is not set"),
        ("[a]\nISSUER=a\nAUDIENCE=b\n", "[a]: No token verification key is set: set PUBLIC_KEY_FILES"),
        ("[a]\nISSUER=a\nAUDIENCE=b\n[a]\nISSUER=a\nAUDIENCE=b\n", "two providers have the same name"),
        ("[a]\n\nISSUER=a\nwhat\n", "line 4: not NAME=value"),
        ("[a]\nISSUER=a\nAUDIENCE=b\nJWKS_URL=http://a.example/\n", "[a]: JWKS_URL must start with https://"),
        ("[a]\nISSUER=a\nAUDIENCE=b\nSECRET_FILE=/no.txt\n", "[a]: SECRET_FILE names /no.txt"),
        ((0..<9).map { "[p\($0)]\nISSUER=a\nAUDIENCE=b\n" }.joined(), "has 9 providers; the maximum is 8"),
        ("\u{0}", "has no provider"),
    ]

    @Test(arguments: badFiles.indices) func `a wrong providers file is reported with its line`(index: Int) async throws
    {
        let (text, said) = Self.badFiles[index]
        try await TemporaryFolder.holding("enroute-providers") { folder in
            try text.write(toFile: "\(folder)/p.ini", atomically: true, encoding: .utf8)
            let outcome = try await CommandTests.run(
                ["token", "inspect", "x"], environment: ["ENROUTE_TOKEN_PROVIDERS_FILE": "\(folder)/p.ini"])
            if text == "\u{0}" { return #expect(outcome.code == 78) }
            #expect(outcome.code == 78 && outcome.error.contains(said), "\(outcome)")
        }
    }
}
