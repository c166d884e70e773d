// enroute token: makes tokens for development, and explains tokens. In production your own sign-in service issues them.

import Access
import ArgumentParser
import EnrouteWire
import Foundation

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Makes a token for development, or explains one.",
        usage: """
            enroute token <person> --role <role> [<options>]
            enroute token inspect [<token>] [<options>]
            """,
        discussion: wrappable(
            """
            Signs with ENROUTE_TOKEN_SECRET (HS256) or, with --key, with a private key in PEM: P-256 (ES256), RSA (RS256)
            or Ed25519 (EdDSA). In a folder in which `enroute dev` runs, it signs with the secret of that gateway unless a
            key is set. `enroute token make --help` lists the options.

            Examples:
              ENROUTE_TOKEN_SECRET=$(openssl rand -hex 32) \\
                enroute token --role customer customer-1
              enroute token --role rider rider-7 --key key.pem --lifetime 3600
              enroute token --role customer customer-1 --job visit-1
              enroute token inspect --config enroute.env < rider.token
            """),
        subcommands: [MakeTokenCommand.self, InspectTokenCommand.self], defaultSubcommand: MakeTokenCommand.self)
}

struct MakeTokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "make", abstract: "Makes a token for development.",
        usage: "enroute token <person> --role <role> [<options>]")

    @Argument(help: "The user: 1 to 64 characters of A-Z a-z 0-9 _ -.")
    var person: String

    @Option(help: "The user's role: one of \(Role.allCases.map(\.rawValue).joined(separator: ", ")).")
    var role: String

    @Option(help: "Seconds until the token expires, 1 to 86400.")
    var lifetime: Int64 = 900

    @Option(help: "The only job that the token reaches. Without it, the token reaches every job of the user.")
    var job: String?

    @Option(
        help: ArgumentHelp(
            "The only rider whose jobs the token reaches. Only that rider's own token can then change anything.",
            valueName: "rider"))
    var jobsOf: String?

    @Option(help: ArgumentHelp("Private key in PEM, instead of the secret.", valueName: "file"))
    var key: String?

    @Option(help: "Key id for the token's header, with --key.")
    var kid: String?

    @Option(help: configurationFileHelp)
    var config: String?

    func validate() throws {
        guard PersonID(self.person) != nil else {
            throw ValidationError("\(self.person) is not a user id: it must be 1 to 64 characters of A-Z a-z 0-9 _ -.")
        }
        guard Role(rawValue: self.role) != nil else {
            throw ValidationError(
                "\(self.role) is not a role: it must be one of \(Role.allCases.map(\.rawValue).joined(separator: ", "))."
            )
        }
        guard self.job.map({ JobID($0) != nil }) ?? true else {
            throw ValidationError("--job must be the id of a job: 1 to 64 characters of A-Z a-z 0-9 _ -.")
        }
        guard self.jobsOf.map({ PersonID($0) != nil }) ?? true else {
            throw ValidationError("--jobs-of must be the id of a rider: 1 to 64 characters of A-Z a-z 0-9 _ -.")
        }
        guard self.kid == nil || self.key != nil else {
            throw ValidationError("--kid needs --key: tokens that are signed with the secret have no key id.")
        }
        guard (1...86_400).contains(self.lifetime) else { throw ValidationError("--lifetime must be 1 to 86400.") }
    }

    func run() async throws {
        try await exitingCleanly {
            var configuration = try ProcessConfiguration(file: self.config, command: "token")
            if self.config == nil, self.key == nil { configuration = try configuration.withSecretOfDev() }
            let (issuer, audience) = (configuration.tokenIssuer(), configuration.tokenAudience())
            let mint: TokenMint
            if let key {
                guard let pem = try? String(contentsOfFile: key, encoding: .utf8) else {
                    throw ConfigurationError(
                        description:
                            "--key names \(key), which cannot be read. Check that it exists and that this user may read it."
                    )
                }
                mint = try await TokenMint(privateKeyPEM: pem, kid: self.kid, issuer: issuer, audience: audience)
            } else {
                let secret = try configuration.required(
                    "ENROUTE_TOKEN_SECRET",
                    "the secret that the gateway verifies tokens with. Or use --key, or run `enroute dev` in this folder."
                )
                mint = try await TokenMint(secret: secret, issuer: issuer, audience: audience)
            }
            // `validate` has checked the ids.
            let now = Int64(Date.now.timeIntervalSince1970)
            say(
                try await mint.token(
                    for: PersonID(self.person)!, role: Role(rawValue: self.role)!, now: now, lifetime: self.lifetime,
                    job: self.job.flatMap(JobID.init(_:)), rider: self.jobsOf.flatMap(PersonID.init(_:))))
        }
    }
}
