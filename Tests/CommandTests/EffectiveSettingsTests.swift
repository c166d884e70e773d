import Embedded
import Foundation
import Gateway
import Realtime
import REST
import TrafficControl
import Testing

@testable import enroute

/// The effect of settings that no other test sets. `SettingsTableTests` finds a setting that no test sets.
@Suite struct EffectiveSettingsTests {
    private static let needed = [
        "ENROUTE_REDIS_LIVE_URL": "redis://127.0.0.1", "ENROUTE_TLS": "off",
        "ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes",
    ]

    /// The settings that `enroute serve --config` reads from these lines.
    private static func settings(
        _ lines: [String: String]
    ) async throws -> (settings: GatewaySettings, configuration: ProcessConfiguration) {
        let file = FileManager.default.temporaryDirectory.appending(path: "enroute-settings-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        let text = self.needed.merging(lines) { $1 }.map { "\($0)=\($1)\n" }.joined()
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        let configuration = try ProcessConfiguration(file: file, command: nil)
        return (try await configuration.gateway(host: nil, port: nil), configuration)
    }

    private struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let value: String
        /// The value that reaches the gateway, as text. It differs from `value` if there are units.
        let expected: String
        let effect: @Sendable (GatewaySettings) -> String?

        var testDescription: String { self.name }
    }

    private static let rows = [
        Row(name: "ENROUTE_PAGES_LEAFLET_DIR", value: "/srv/leaflet", expected: "/srv/leaflet") { $0.leafletFolder },
        Row(name: "ENROUTE_PAGES_DIR", value: "/tmp", expected: "/tmp") { $0.pagesFolder },
        Row(name: "ENROUTE_PAGES_SIGN_IN_URL", value: "https://a.example/in", expected: "https://a.example/in") {
            $0.signInURL
        },
        Row(name: "ENROUTE_MANAGEMENT_HOST", value: "10.1.2.3", expected: "10.1.2.3") { $0.management?.host },
        Row(name: "ENROUTE_OVERLOAD_DESCRIPTOR_PERCENT", value: "71", expected: "71") {
            "\($0.overload.descriptorPercent)"
        },
        Row(name: "ENROUTE_OVERLOAD_MEMORY_MB", value: "3", expected: "3145728") { "\($0.overload.memoryBytes)" },
        Row(name: "ENROUTE_DRAIN_ACCEPT_SECONDS", value: "7", expected: "7.0 seconds") { "\($0.drainAccept)" },
        Row(name: "ENROUTE_LIMIT_SESSION_AGE_SECONDS", value: "14400", expected: "14400") {
            "\($0.limits.sessionAgeSeconds)"
        },
        Row(name: "ENROUTE_TRACKING_POSITION_LIFETIME_SECONDS", value: "77", expected: "77.0 seconds") {
            "\($0.liveState.positionLifetime)"
        },
        Row(name: "ENROUTE_JOB_RETENTION_SECONDS", value: "77777", expected: "77777.0 seconds") {
            "\($0.liveState.retention)"
        },
    ]

    @Test(arguments: rows.indices)
    private func `a setting reaches the gateway`(index: Int) async throws {
        let row = Self.rows[index]
        let (settings, _) = try await Self.settings([row.name: row.value])
        #expect(row.effect(settings) == row.expected, "\(row.name)")
        let (defaults, _) = try await Self.settings([:])
        #expect(row.effect(defaults) != row.expected, "\(row.name): the default would pass too")
    }

    @Test func `only pages of allowed origins may open a WebSocket`() async throws {
        let (settings, _) = try await Self.settings([
            "ENROUTE_LISTEN_ALLOWED_ORIGINS": "https://app.example, https://b.example:8443"
        ])
        #expect(settings.origins == (try AllowedOrigins(["https://app.example", "https://b.example:8443"])))
        await #expect(throws: (any Error).self) {
            try await Self.settings(["ENROUTE_LISTEN_ALLOWED_ORIGINS": "app.example/"])
        }
    }

    @Test func `app shells may connect, and only listed pages may frame the tracking page`() async throws {
        let shells = "capacitor://localhost, ionic://localhost, tauri://localhost"
        let (settings, _) = try await Self.settings([
            "ENROUTE_LISTEN_ALLOWED_ORIGINS": shells, "ENROUTE_PAGES_FRAME_ANCESTORS": "https://shop.example",
        ])
        #expect(
            settings.origins.sender(["tauri://localhost"], host: "h", fetchSite: nil) == .allowed("tauri://localhost"))
        #expect(settings.frameAncestors.list == "https://shop.example")
        for bad in ["*", "https://shop.example;script-src", "'self'", "https://shop.example/page"] {
            await #expect(throws: (any Error).self) {
                try await Self.settings(["ENROUTE_PAGES_FRAME_ANCESTORS": bad])
            }
        }
    }

    @Test func `only configured proxies are trusted`() async throws {
        let (settings, _) = try await Self.settings(["ENROUTE_LISTEN_TRUSTED_PROXIES": "10.0.0.0/8,192.0.2.1"])
        let named = try TrustedProxies(["10.0.0.0/8", "192.0.2.1"])
        #expect("\(settings.trustedProxies)" == "\(named)")
        #expect("\(settings.trustedProxies)" != "\(TrustedProxies.none)")
        await #expect(throws: (any Error).self) {
            try await Self.settings(["ENROUTE_LISTEN_TRUSTED_PROXIES": "10.0.0.0/99"])
        }
    }

    @Test func `the PROXY protocol is off, or required from named balancers`() async throws {
        let required = ["ENROUTE_LISTEN_PROXY_PROTOCOL": "required"]
        let from = ["ENROUTE_LISTEN_PROXY_PROTOCOL_FROM": "10.0.0.0/8,192.0.2.1"]
        #expect(try await Self.settings(from).0.proxyProtocol == nil)
        let (settings, _) = try await Self.settings(required.merging(from) { $1 })
        let balancers = try #require(settings.proxyProtocol)
        #expect("\(balancers)" == "\(try TrustedProxies(["10.0.0.0/8", "192.0.2.1"]))")
        await #expect(throws: (any Error).self) { try await Self.settings(required) }
        await #expect(throws: (any Error).self) {
            try await Self.settings(required.merging(["ENROUTE_LISTEN_PROXY_PROTOCOL_FROM": "balancer"]) { $1 })
        }
        await #expect(throws: (any Error).self) { try await Self.settings(["ENROUTE_LISTEN_PROXY_PROTOCOL": "on"]) }
    }

    @Test func `the issuer and the audience of tokens are configurable`() async throws {
        let (_, configuration) = try await Self.settings([
            "ENROUTE_TOKEN_ISSUER": "https://id.example", "ENROUTE_TOKEN_AUDIENCE": "tracking",
        ])
        #expect(configuration.tokenIssuer() == "https://id.example" && configuration.tokenAudience() == "tracking")
    }

    @Test func `tiles need a URL and an attribution, and may have certificate authorities`() async throws {
        let tiles = [
            "ENROUTE_TILES_URL": "https://tiles.example/{z}/{x}/{y}.png", "ENROUTE_TILES_ATTRIBUTION": "Map people",
            "ENROUTE_TILES_CA_FILE": "/etc/ssl/certs/ca-certificates.crt",
        ]
        let (settings, _) = try await Self.settings(tiles)
        #expect(settings.tiles?.attribution == "Map people")
        #expect(settings.tiles?.authorities == "/etc/ssl/certs/ca-certificates.crt")
        await #expect(throws: (any Error).self) {
            try await Self.settings(tiles.filter { !$0.key.hasSuffix("ATTRIBUTION") })
        }
        await #expect(throws: (any Error).self) {
            try await Self.settings(tiles.merging(["ENROUTE_TILES_CA_FILE": "/no.pem"]) { $1 })
        }
    }

    @Test func `D35: pages are installed under the operator's name`() async throws {
        let name = "ENROUTE_PAGES_NAME"
        #expect(try await Self.settings([name: "Da Gino & Söhne"]).0.brand.name == "Da Gino & Söhne")
        #expect(try await Self.settings([:]).0.brand.name == nil)
        for text in [String(repeating: "a", count: 41), "a\u{7}b"] {
            await #expect(throws: (any Error).self, "\(text)") { try await Self.settings([name: text]) }
        }
    }

    @Test func `the pages have the operator's colors if their contrast is sufficient`() async throws {
        let (light, dark) = ("ENROUTE_PAGES_ACCENT", "ENROUTE_PAGES_ACCENT_DARK")
        let (settings, _) = try await Self.settings([light: "B00020", dark: "ff8a80"])
        #expect(settings.brand.accent?.colour.css == "#b00020" && settings.brand.darkAccent?.colour.css == "#ff8a80")
        #expect(try await Self.settings([:]).0.brand.accent == nil)
        for (name, text) in [(light, "ff8a80"), (dark, "b00020"), (light, "red"), (light, "12345"), (dark, "12345g")] {
            await #expect(throws: (any Error).self, "\(name)=\(text)") { try await Self.settings([name: text]) }
        }
    }

    @Test func `the support link is a page, an address or a telephone number`() async throws {
        let name = "ENROUTE_PAGES_SUPPORT_URL"
        for text in ["https://shop.example/help?a=1", "mailto:help@shop.example", "tel:+390612345"] {
            #expect(try await Self.settings([name: text]).0.brand.supportURL == text)
        }
        for text in [
            "http://shop.example", "javascript:alert(1)", "https://", "mailto:", "help", "https://a:b@shop.example",
        ] {
            await #expect(throws: (any Error).self, "\(text)") { try await Self.settings([name: text]) }
        }
    }

    @Test func `the logo is a small image`() async throws {
        let name = "ENROUTE_PAGES_LOGO_FILE"
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-logo-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func file(_ name: String, _ bytes: Int) throws -> String {
            let path = folder.appending(path: name)
            try Data(repeating: 60, count: bytes).write(to: path)
            return path.path
        }
        let logo = try await Self.settings([name: try file("logo.SVG", 10)]).0.brand.logo
        #expect(logo?.mediaType == "image/svg+xml" && logo?.bytes.count == 10)
        for path in [try file("logo.gif", 10), try file("large.png", 100_001), try file("empty.png", 0), "/no.svg"] {
            await #expect(throws: (any Error).self, "\(path)") { try await Self.settings([name: path]) }
        }
    }

    @Test func `photos are loaded from named origins over TLS only`() async throws {
        let name = "ENROUTE_PAGES_PHOTO_ORIGINS"
        let (settings, _) = try await Self.settings([name: "https://photos.example,https://b.example:8443"])
        #expect(settings.photoOrigins == ["https://photos.example", "https://b.example:8443"])
        #expect(try await Self.settings([:]).0.photoOrigins.isEmpty)
        for origin in [
            "http://photos.example", "photos.example", "https://photos.example/", "https://*.example",
            "https://A.example",
            "https://photos.example;script-src *", "*", "https:", "data:",
        ] {
            await #expect(throws: (any Error).self, "\(origin)") { try await Self.settings([name: origin]) }
        }
    }

    @Test func `the settings determine what customers can do on their page`() async throws {
        let usual = try await Self.settings([:]).0
        #expect(usual.customerNotes == .signedIn && usual.customerCancelling == .signedIn)
        let (settings, _) = try await Self.settings(["ENROUTE_PAGES_NOTES": "links", "ENROUTE_PAGES_CANCEL": "off"])
        #expect(settings.customerNotes == .links && settings.customerCancelling == .off)
    }

    /// Files are read when the gateway starts, so a missing one is reported before it listens.
    @Test(arguments: [
        ("ENROUTE_TLS_TICKET_KEY_FILES", "/no.keys", "/no.keys"),
        ("ENROUTE_TLS_OCSP_RESPONSE_FILE", "/no.der", "/no.der"),
        ("ENROUTE_TLS_RECORD_LAYER", "none", "ENROUTE_TLS_RECORD_LAYER is none"),
    ])
    func `TLS settings are validated before the gateway listens`(name: String, value: String, said: String)
        async throws
    {
        try await TemporaryFolder.holding("enroute-settings") { folder in
            let files = try DevelopmentCertificate(name: "settings").write(to: folder)
            let secure = [
                "ENROUTE_TLS": "on", "ENROUTE_TLS_CERTIFICATE_FILE": files.certificate,
                "ENROUTE_TLS_KEY_FILE": files.key,
            ]
            #expect(try await Self.settings(secure).settings.credentials != nil)
            let error = await #expect(throws: (any Error).self) {
                try await Self.settings(secure.merging([name: value]) { $1 })
            }
            #expect(error.map { "\($0)".contains(said) } == true, "\(error.map { "\($0)" } ?? "none")")
        }
    }
}
