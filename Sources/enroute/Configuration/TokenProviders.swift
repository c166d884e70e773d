// Identity providers from the settings: one from the environment, and others from a file with a section for each. A
// section uses the names of the environment variables without their prefix, so the same code reads both.

import Access
import Foundation

/// The file that ENROUTE_TOKEN_PROVIDERS_FILE names.
struct TokenProvidersFile {
    static let prefix = "ENROUTE_TOKEN_"

    struct Section {
        let name: String
        let line: Int
        let configuration: ProcessConfiguration
    }

    private(set) var sections: [Section] = []

    /// The names that a section may set.
    private static let names = Set(
        SettingsTable.tokens.settings.map(\.name).filter { $0 != "ENROUTE_TOKEN_PROVIDERS_FILE" }
            .map { String($0.dropFirst(prefix.count)) })

    /// - Parameter path: for errors.
    /// - Throws: `ConfigurationError` with the file and the line.
    init(_ text: String, path: String) throws {
        var heads: [(name: String, line: Int)] = []
        var bodies: [String] = []
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let trimmed = line.trimmingCharacters(in: .whitespaces)
            if let name = trimmed.wholeMatch(of: /\[([A-Za-z0-9_.-]{1,64})\]/)?.1 {
                heads.append((String(name), index + 1))
                // Blank lines, so that errors contain the file's own line numbers.
                bodies.append(String(repeating: "\n", count: index + 1))
            } else if bodies.isEmpty {
                guard trimmed.isEmpty || trimmed.hasPrefix("#") else {
                    throw ConfigurationError(
                        description:
                            "\(path), line \(index + 1): a setting before the first section. Start each provider "
                            + "with a line such as [auth0].")
                }
            } else {
                bodies[bodies.count - 1] += "\(line)\n"
            }
        }
        guard !heads.isEmpty else {
            throw ConfigurationError(
                description: "\(path) has no provider. Start each one with a line such as [auth0].")
        }
        guard heads.count <= IdentityProvider.most else {
            throw ConfigurationError(
                description: "\(path) has \(heads.count) providers; the maximum is \(IdentityProvider.most).")
        }
        guard Set(heads.map(\.name)).count == heads.count else {
            throw ConfigurationError(description: "\(path): two providers have the same name.")
        }
        self.sections = try zip(heads, bodies).map { head, body in
            Section(
                name: head.name, line: head.line,
                configuration: ProcessConfiguration(
                    SettingSources(environment: try Self.settings(body, of: head.name, path: path))))
        }
    }

    /// The settings of a section, as environment variables.
    private static func settings(_ body: String, of name: String, path: String) throws -> [String: String] {
        let file: SettingsFile
        do throws(SettingsFile.Malformed) {
            file = try SettingsFile(body)
        } catch {
            throw ConfigurationError(
                description: error.faults.map { "\(path), line \($0.line): \($0.reason)." }.joined(separator: "\n"))
        }
        for setting in file.settings where !Self.names.contains(setting.name) {
            let nearest = UnknownSettings.nearest(to: Self.prefix + setting.name).map {
                $0.dropFirst(Self.prefix.count)
            }
            let advice = nearest.flatMap { Self.names.contains(String($0)) ? " Did you mean \($0)?" : nil } ?? ""
            throw ConfigurationError(
                description: "\(path), line \(setting.line): \(setting.name) is not a setting of a provider.\(advice)")
        }
        for required in ["ISSUER", "AUDIENCE"] where file.values[required, default: ""].isEmpty {
            throw ConfigurationError(description: "\(path), [\(name)]: \(required) is not set.", isMissing: true)
        }
        return Dictionary(uniqueKeysWithValues: file.values.map { (Self.prefix + $0, $1) })
    }

    init(path: String) throws {
        let setting = "ENROUTE_TOKEN_PROVIDERS_FILE"
        guard let handle = FileHandle(forReadingAtPath: path) else {
            throw ConfigurationError(
                description:
                    "\(setting) names \(path), which cannot be read. Check that it exists and that this user may "
                    + "read it.")
        }
        defer { try? handle.close() }
        guard let bytes = try? handle.read(upToCount: SettingsFile.maxBytes + 1) ?? Data(),
            bytes.count <= SettingsFile.maxBytes, let text = String(validating: bytes, as: UTF8.self)
        else {
            throw ConfigurationError(
                description:
                    "\(setting) names \(path), which is not UTF-8 text of at most \(SettingsFile.maxBytes) bytes.")
        }
        try self.init(text, path: path)
    }
}

extension ProcessConfiguration {
    /// The provider that these settings describe, without its keys.
    func identityProvider() throws -> IdentityProvider {
        var provider = IdentityProvider(issuer: self.tokenIssuer(), audience: self.tokenAudience())
        provider.audienceClaim = try self.claim("ENROUTE_TOKEN_AUDIENCE_CLAIM") ?? provider.audienceClaim
        provider.personClaim = try self.claim("ENROUTE_TOKEN_PERSON_CLAIM") ?? provider.personClaim
        provider.roleClaim = try self.claim("ENROUTE_TOKEN_ROLE_CLAIM") ?? provider.roleClaim
        provider.jobClaim = try self.claim("ENROUTE_TOKEN_JOB_CLAIM")
        provider.riderClaim = try self.claim("ENROUTE_TOKEN_RIDER_CLAIM")
        // `choice` allows only these forms.
        provider.personForm = IdentityProvider.PersonForm(rawValue: try self.choice("ENROUTE_TOKEN_PERSON_FORM"))!
        provider.roles = try self.roleMap()
        provider.defaultRole = Role(rawValue: try self.choice("ENROUTE_TOKEN_DEFAULT_ROLE"))
        provider.requiresTokenID = try self.choice("ENROUTE_TOKEN_JTI") == "required"
        provider.accepted = Set(self.list("ENROUTE_TOKEN_ALGORITHMS"))
        if let unknown = provider.accepted.subtracting(IdentityProvider.algorithms).min() {
            throw ConfigurationError(
                description: "ENROUTE_TOKEN_ALGORITHMS contains \(unknown); it may contain "
                    + IdentityProvider.algorithms.sorted().joined(separator: ", ") + ".")
        }
        provider.type = self.text("ENROUTE_TOKEN_TYPE")?.lowercased()
        if let type = provider.type, type.wholeMatch(of: /[a-z0-9.+-]{1,64}/) == nil {
            throw ConfigurationError(
                description:
                    "ENROUTE_TOKEN_TYPE is \(type); it must be a media type without application/, such as at+jwt.")
        }
        return provider
    }

    /// - Returns: `nil` if it is not set and has no default.
    private func claim(_ name: String) throws -> ClaimPath? {
        try self.text(name).map { text in
            guard let path = ClaimPath(text) else {
                throw ConfigurationError(
                    description: "\(name) is \(text); it must be the path of a claim: names separated by dots, such as "
                        + "realm_access.roles. A dot within a name is written \\. and a name may be a URL.")
            }
            return path
        }
    }

    private func roleMap() throws -> [IdentityProvider.RoleEntry] {
        let entries = self.list("ENROUTE_TOKEN_ROLES")
        guard entries.count <= IdentityProvider.mostRoles else {
            throw ConfigurationError(
                description:
                    "ENROUTE_TOKEN_ROLES has \(entries.count) entries; the maximum is \(IdentityProvider.mostRoles).")
        }
        return try entries.map { text in
            guard let entry = IdentityProvider.RoleEntry(text) else {
                throw ConfigurationError(
                    description: "ENROUTE_TOKEN_ROLES contains \(text); each entry must be value:role, for example "
                        + "courier:rider. The roles are \(Role.allCases.map(\.rawValue).joined(separator: ", ")).")
            }
            return entry
        }
    }
}
