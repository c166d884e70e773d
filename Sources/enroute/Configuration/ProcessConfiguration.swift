// What the environment and a file say, turned into the gateway's settings. deploy/configuration.md lists the names.

import Access
import Configuration
import EnrouteWire
import Foundation
import Gateway
import Realtime
import REST
import TrafficControl
import Journeys
import LiveState
import Logging
import Redis
import SecureSocket
import Tracking

/// Settings by their names in the environment, which go before those of the file.
struct ProcessConfiguration {
    private let reader: ConfigReader

    /// - Parameter file: as `SettingsFile` reads it; `nil` for the environment alone.
    /// - Throws: `ConfigurationError` where the file cannot be read, or something is set that is no setting.
    init(file: String?) async throws {
        let environment = ProcessInfo.processInfo.environment
        let settings = try file.map { (path: $0, settings: try SettingsFile(path: $0)) }
        let faults = SettingNames.faults(environment: environment, file: settings)
        guard faults.isEmpty else { throw ConfigurationError(description: faults.joined(separator: "\n")) }
        self.reader = ConfigReader(
            providers: [environment, settings?.settings.values ?? [:]].map {
                EnvironmentVariablesProvider(environmentVariables: $0)
            })
    }

    // MARK: values

    func text(_ name: String) -> String? {
        let value = self.reader.string(forKey: ConfigKey(name.lowercased().split(separator: "_").map(String.init)))
        return value.flatMap { $0.isEmpty ? nil : $0 }
    }

    func required(_ name: String, _ why: String) throws -> String {
        guard let value = self.text(name) else {
            throw ConfigurationError(description: "\(name) is not set: \(why)", isMissing: true)
        }
        return value
    }

    func integer(_ name: String, in range: ClosedRange<Int>, default fallback: Int) throws -> Int {
        guard let text = self.text(name) else { return fallback }
        guard let value = Int(text), range.contains(value) else {
            guard !SettingNames.isServiceLink(name, text) else {
                throw ConfigurationError(
                    description: "\(name) is \(text), which Kubernetes sets for a service of that name: set "
                        + "enableServiceLinks: false in the pod, or \(name) to a number.")
            }
            throw ConfigurationError(
                description:
                    "\(name) is \(text); it must be a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return value
    }

    /// One of a few words; the first when nothing is set.
    func choice(_ name: String, _ words: [String]) throws -> String {
        guard let text = self.text(name) else { return words[0] }
        guard words.contains(text) else {
            throw ConfigurationError(
                description: "\(name) is \(text); it must be \(words.joined(separator: " or ")).")
        }
        return text
    }

    /// Separated by commas.
    func list(_ name: String) -> [String] {
        (self.text(name) ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    // MARK: settings

    func logger() throws -> Logger {
        var logger = Logger(label: "enroute") { _ in LogLineHandler() }
        let level = self.text("ENROUTE_LOG_LEVEL") ?? "info"
        guard let parsed = Logger.Level(rawValue: level) else {
            throw ConfigurationError(
                description: "ENROUTE_LOG_LEVEL is \(level); it must be one of "
                    + Logger.Level.allCases.map(\.rawValue).joined(separator: ", ") + ".")
        }
        logger.logLevel = parsed
        return logger
    }

    func loops() throws -> Int {
        try self.integer("ENROUTE_EVENT_LOOPS", in: 1...256, default: ProcessInfo.processInfo.activeProcessorCount)
    }

    func redis() throws -> (live: RedisAddress, ledger: RedisAddress) {
        let url = try self.required(
            "ENROUTE_REDIS_LIVE_URL", "where Redis is, for example redis://127.0.0.1:6379. `enroute demo` needs none.")
        let live = try self.naming("ENROUTE_REDIS_LIVE_URL") { try RedisAddress(url: url) }
        return (live, try self.redisAddress("ENROUTE_REDIS_LEDGER_URL") ?? live)
    }

    /// `nil` where it is not set.
    func redisAddress(_ name: String) throws -> RedisAddress? {
        try self.text(name).map { url in try self.naming(name) { try RedisAddress(url: url) } }
    }

    func liveState() throws -> LiveStateSettings {
        var state = LiveStateSettings()
        state.keyspace = Keyspace(prefix: try self.prefix())
        state.travelCap = .seconds(
            try self.integer("ENROUTE_TRACKING_MAX_SHARING_SECONDS", in: 1...14_400, default: 14_400))
        state.positionLifetime = .seconds(
            try self.integer("ENROUTE_TRACKING_POSITION_LIFETIME_SECONDS", in: 1...3_600, default: 600))
        state.retention = .seconds(
            try self.integer("ENROUTE_JOB_RETENTION_SECONDS", in: 60...31_536_000, default: 172_800))
        state.riderReach = .seconds(
            try self.integer("ENROUTE_RIDER_HEARTBEAT_TIMEOUT_SECONDS", in: 1...86_400, default: 90))
        state.riderSilence = .seconds(
            try self.integer("ENROUTE_RIDER_AUTO_OFFLINE_AFTER_SECONDS", in: 1...604_800, default: 1_800))
        state.accessEntries = try self.integer(
            "ENROUTE_AUDIT_ACCESS_MAX_ENTRIES", in: 1_000...100_000_000, default: 100_000)
        return state
    }

    func gateway(host: String?, port: Int?, testEcho: Bool = false) async throws -> GatewaySettings {
        // First what nobody can do without: whoever has set nothing is told of Redis.
        _ = try self.redis()
        let (verifier, issuerKeys) = try await self.tokens()
        var settings = try self.gateway(
            host: host, port: port, testEcho: testEcho, credentials: try self.credentials(), tokens: verifier)
        settings.issuerKeys = issuerKeys
        return settings
    }

    /// The same, with what proves who somebody is given.
    func gateway(
        host: String?, port: Int?, testEcho: Bool = false, credentials: TLSCredentials?, tokens: TokenVerifier
    ) throws -> GatewaySettings {
        let (live, ledger) = try self.redis()
        var settings = GatewaySettings(
            host: Self.unbracketed(host ?? self.text("ENROUTE_LISTEN_HOST") ?? "0.0.0.0"),
            port: try port ?? self.integer("ENROUTE_LISTEN_PORT", in: 0...65535, default: 8443),
            credentials: credentials, live: live, ledger: ledger, tokens: tokens)
        settings.redisTiming.quorum = try self.replicaQuorum()
        settings.topics = try self.topics()
        settings.queue = try self.queue()
        settings.arrivals = try self.arrivals()
        settings.liveState = try self.liveState()
        settings.name = try self.gatewayName()
        settings.drainAccept = .seconds(
            try self.integer("ENROUTE_DRAIN_ACCEPT_SECONDS", in: 0...600, default: 5))
        settings.drain = .seconds(try self.integer("ENROUTE_DRAIN_SECONDS", in: 0...600, default: 10))
        settings.testEcho = testEcho
        settings.limits = try self.limits()
        settings.freshness = .seconds(
            try self.integer("ENROUTE_TRACKING_STALE_AFTER_SECONDS", in: 1...3_600, default: 30))
        settings.validation.fastestMetersPerSecond = Double(
            try self.integer("ENROUTE_TRACKING_MAX_PLAUSIBLE_SPEED_MPS", in: 1...100_000, default: 60))
        settings.arrivalStopsTravel =
            try self.choice("ENROUTE_TRACKING_STOP_SHARING_ON_ARRIVAL", ["off", "on"]) == "on"
        settings.overload = try self.overload()
        settings.trustedProxies = try self.naming("ENROUTE_LISTEN_TRUSTED_PROXIES") {
            try TrustedProxies(self.list("ENROUTE_LISTEN_TRUSTED_PROXIES"))
        }
        settings.origins = try AllowedOrigins(self.list("ENROUTE_LISTEN_ALLOWED_ORIGINS"))
        settings.management = try self.management()
        settings.leafletFolder = self.text("ENROUTE_PAGES_LEAFLET_DIR") ?? settings.leafletFolder
        settings.pagesFolder = try self.pagesFolder()
        settings.signInURL = try self.signInURL()
        settings.tiles = try self.tiles()
        settings.languages = try self.languages()
        settings.streets = try self.text("ENROUTE_PAGES_STREETS_FILE").map { path in
            try self.naming("ENROUTE_PAGES_STREETS_FILE") { try Streets.load(path: path) }
        }
        return settings
    }

    /// An IPv6 address may stand in brackets, as in a URL.
    static func unbracketed(_ host: String) -> String {
        host.hasPrefix("[") && host.hasSuffix("]") && host.contains(":") ? String(host.dropFirst().dropLast()) : host
    }

    private func gatewayName() throws -> String {
        guard let name = self.text("ENROUTE_GATEWAY_NAME") else { return ProcessInfo.processInfo.hostName }
        guard name.wholeMatch(of: /[A-Za-z0-9._-]{1,253}/) != nil else {
            throw ConfigurationError(description: "ENROUTE_GATEWAY_NAME must be 1 to 253 of [A-Za-z0-9._-].")
        }
        return name
    }

    private func languages() throws -> StatusLanguages {
        StatusLanguages(
            further: try self.list("ENROUTE_PAGES_TRANSLATION_FILES").map { file in
                guard let json = FileManager.default.contents(atPath: file) else {
                    throw ConfigurationError(
                        description: "ENROUTE_PAGES_TRANSLATION_FILES names \(file), which can not be read.")
                }
                do throws(BadMessage) {
                    // Both sections: a page asks for the whole file.
                    _ = try TrackingTexts(json: Array(json))
                    return try StatusTexts(json: Array(json))
                } catch {
                    throw ConfigurationError(
                        description: "\(file) (ENROUTE_PAGES_TRANSLATION_FILES) can not be used: \(error.reason). "
                            + "GET /api/v1/texts?language=en shows a whole one.")
                }
            })
    }

    private func prefix() throws -> String {
        let prefix = self.text("ENROUTE_REDIS_PREFIX") ?? ""
        guard prefix.utf8.count <= 64, !prefix.contains(where: { "{}*?[]\\ ".contains($0) || !$0.isASCII }) else {
            throw ConfigurationError(
                description:
                    "ENROUTE_REDIS_PREFIX must be at most 64 ASCII characters, none of { } * ? [ ] \\ or a space.")
        }
        return prefix
    }

    func credentials() throws -> TLSCredentials? {
        guard try self.choice("ENROUTE_TLS", ["on", "off"]) == "on" else { return nil }
        let why = "a PEM file. Behind a balancer that terminates TLS set ENROUTE_TLS=off."
        return try TLSCredentials(
            certificateChain: self.required("ENROUTE_TLS_CERTIFICATE_FILE", why),
            privateKey: self.required("ENROUTE_TLS_KEY_FILE", why),
            ticketKeys: self.list("ENROUTE_TLS_TICKET_KEY_FILES"),
            ocspResponse: self.text("ENROUTE_TLS_OCSP_RESPONSE_FILE"),
            makesRecords: try self.choice("ENROUTE_TLS_RECORD_LAYER", ["builtin", "openssl"]) == "builtin",
            acceptsInvalidDates: try self.mode() == .development)
    }

    func tokenIssuer() -> String { self.text("ENROUTE_TOKEN_ISSUER") ?? "enroute" }
    func tokenAudience() -> String { self.text("ENROUTE_TOKEN_AUDIENCE") ?? "enroute" }

    /// What checks tokens, and what keeps its keys those that an issuer publishes, where one is named.
    func tokens() async throws -> (TokenVerifier, JWKSSource?) {
        var keys: [TokenVerifier.Key] = []
        var name = "ENROUTE_TOKEN_PUBLIC_KEY_FILES with ENROUTE_TOKEN_KEY_IDS"
        do {
            let sources = try self.list("ENROUTE_TOKEN_PUBLIC_KEY_FILES").map { file in
                guard let pem = try? String(contentsOfFile: file, encoding: .utf8) else {
                    throw ConfigurationError(
                        description: "ENROUTE_TOKEN_PUBLIC_KEY_FILES names \(file), which can not be read.")
                }
                return (name: file, pem: pem)
            }
            // Without a public key its id says nothing, as before.
            let kids = sources.isEmpty ? [] : self.list("ENROUTE_TOKEN_KEY_IDS")
            keys += try await TokenVerifier.Key.asymmetric(sources: sources, kids: kids)
            name = "ENROUTE_TOKEN_SECRET"
            if let secret = self.text(name) { keys.append(try await .hs256(secret: secret)) }
        } catch let error as TokenVerifier.Key.InvalidSetting {
            throw ConfigurationError(description: "\(name): \(error)")
        }
        let fetch = try self.keyFetch()
        guard !keys.isEmpty || fetch != nil else {
            throw ConfigurationError(
                description:
                    "No key to check tokens with: set ENROUTE_TOKEN_PUBLIC_KEY_FILES (PEM files: P-256, RSA or Ed25519), "
                    + "ENROUTE_TOKEN_JWKS_URL (where an issuer publishes its keys) or, for development, ENROUTE_TOKEN_SECRET (HS256, at least 32 bytes).",
                isMissing: true)
        }
        let verifier = TokenVerifier(keys: keys, issuer: self.tokenIssuer(), audience: self.tokenAudience())
        return (verifier, try fetch.map { try self.issuerKeys(of: verifier, fixed: keys, $0) })
    }
}
