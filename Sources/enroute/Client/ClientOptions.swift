// Which gateway a command uses, and whose token it sends. Options take precedence over the environment, and both over
// what `enroute dev` stored.

import ArgumentParser
import EnrouteClient
import Foundation
import OutboundHTTP

/// The options of every command that is a client of a gateway.
struct ClientOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The gateway's URL; takes precedence over ENROUTE_CLIENT_URL.", valueName: "url"))
    var url: String?

    @Option(
        help: ArgumentHelp(
            "File with the token to send; takes precedence over ENROUTE_CLIENT_TOKEN.", valueName: "file"))
    var tokenFile: String?

    @Option(
        name: .customLong("ca"),
        help: ArgumentHelp(
            "Certificate authorities to trust instead of the system's; takes precedence over ENROUTE_CLIENT_CA_FILE.",
            valueName: "pem"))
    var authorities: String?

    @Option(
        name: .customLong("as"),
        help: "Which token of `enroute dev` to send: customer, rider, service or ops.")
    var role: ClientRole?

    @Flag(help: "Print JSON.")
    var json = false

    /// - Parameter role: whose token of `enroute dev` to send, unless --as names a role.
    /// - Throws: `ConfigurationError`.
    func client(as role: ClientRole) throws -> GatewayClient {
        let settings = try ProcessConfiguration(file: nil, command: "job")
        let authorities = self.authorities ?? settings.text("ENROUTE_CLIENT_CA_FILE")
        let address = self.url ?? settings.text("ENROUTE_CLIENT_URL")
        let token = try self.token(settings)
        let role = self.role ?? role
        if let address, let token {
            return try GatewayClient(url: address, token: token, authorities: authorities)
        }
        guard let stored = try DevCredentials.stored(in: settings.text("ENROUTE_CLIENT_FOLDER") ?? DevFolder.name)
        else {
            throw ConfigurationError(
                description: address == nil
                    ? "No gateway is named. Pass --url or set ENROUTE_CLIENT_URL, or run `enroute dev` in this folder."
                    : "No token is set. Pass --token-file or set ENROUTE_CLIENT_TOKEN or ENROUTE_CLIENT_TOKEN_FILE.",
                isMissing: true)
        }
        guard address == nil || address.map(Self.withoutSlash) == stored.url else {
            throw ConfigurationError(
                description:
                    "No token is set for \(address ?? ""). Pass --token-file or set ENROUTE_CLIENT_TOKEN; the tokens of "
                    + "enroute dev are for \(stored.url).", isMissing: true)
        }
        guard let token = token ?? stored.tokens[role.rawValue] else {
            throw ConfigurationError(
                description: "The file of enroute dev has no token for \(role.rawValue). Restart enroute dev.")
        }
        return try GatewayClient(url: stored.url, token: token, authorities: authorities)
    }

    private func token(_ settings: ProcessConfiguration) throws -> String? {
        guard let tokenFile else { return settings.text("ENROUTE_CLIENT_TOKEN") }
        do throws(SecretFile.Fault) {
            return try SecretFile.read(tokenFile, setting: "--token-file")
        } catch {
            throw ConfigurationError(description: error.description)
        }
    }

    static func withoutSlash(_ url: String) -> String { url.hasSuffix("/") ? String(url.dropLast()) : url }
}

/// The roles for which `enroute dev` makes tokens.
enum ClientRole: String, ExpressibleByArgument, CaseIterable {
    case customer, rider, service
    case operations = "ops"
}
