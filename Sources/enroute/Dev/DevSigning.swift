// The secret with which `enroute dev` signs tokens. It is stored in the folder of `enroute dev`, so that `enroute
// token` can make and explain tokens for other people there. It is valid only for the gateway of that process.

import Foundation

/// The secret, the issuer and the audience of the tokens of a gateway for development.
struct DevSigning: Codable, Equatable, Sendable {
    let secret: String
    let issuer: String
    let audience: String

    /// The name of its file in a `DevFolder`.
    static let file = "signing.json"
    private static let name = "enroute-dev"

    /// A new secret.
    static func make() -> Self { Self(secret: "\(UUID())\(UUID())", issuer: Self.name, audience: Self.name) }

    var encoded: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            return try encoder.encode(self) + Data("\n".utf8)
        }
    }

    /// - Returns: `nil` if `enroute dev` is not running.
    static func stored(in folder: String) throws -> Self? {
        let path = "\(folder)/\(Self.file)"
        guard let data = FileManager.default.contents(atPath: path) else { return nil }
        guard let signing = try? JSONDecoder().decode(Self.self, from: data) else {
            throw ConfigurationError(description: "\(path) is not a file of enroute dev. Restart enroute dev.")
        }
        return signing
    }

    /// The same values as settings.
    fileprivate var settings: [String: String] {
        [
            "ENROUTE_TOKEN_SECRET": self.secret, "ENROUTE_TOKEN_ISSUER": self.issuer,
            "ENROUTE_TOKEN_AUDIENCE": self.audience,
        ]
    }
}

extension ProcessConfiguration {
    /// The settings that contain a key for tokens.
    private static let tokenKeySettings = [
        "ENROUTE_TOKEN_SECRET", "ENROUTE_TOKEN_PUBLIC_KEY_FILES", "ENROUTE_TOKEN_JWKS_URL",
        "ENROUTE_TOKEN_PROVIDERS_FILE",
    ]

    private var folderOfDev: String { self.text("ENROUTE_CLIENT_FOLDER") ?? DevFolder.name }

    /// Returns the settings of the environment. If they contain no key for tokens and `enroute dev` runs in this folder, its
    /// secret is added.
    func withSecretOfDev() throws -> ProcessConfiguration {
        guard !Self.tokenKeySettings.contains(where: self.isSet),
            let signing = try DevSigning.stored(in: self.folderOfDev)
        else { return self }
        return ProcessConfiguration(
            SettingSources(environment: ProcessInfo.processInfo.environment.merging(signing.settings) { $1 }),
            command: self.command)
    }

    /// The gateway of `enroute dev` and the settings with its secret; `nil` if the settings contain a key for tokens,
    /// or if `enroute dev` is not running in this folder.
    func dev() throws -> (credentials: DevCredentials, configuration: ProcessConfiguration)? {
        guard !Self.tokenKeySettings.contains(where: self.isSet),
            let credentials = try DevCredentials.stored(in: self.folderOfDev)
        else { return nil }
        return (credentials, try self.withSecretOfDev())
    }
}
