import Foundation
import Testing

@testable import enroute

/// The settings that must be the same on every gateway.
struct SharedSettingsTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    @Test func `the shared settings are those of the state in Redis, except for its prefix`() throws {
        let path = "Sources/enroute/Configuration/GatewayConfiguration.swift"
        let text = try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
        let body = try #require(text.firstMatch(of: /(?s)func liveState\(\).*?return state/))
        let read = body.0.matches(of: /"(ENROUTE_[A-Z_]+)"/).map { String($0.1) }
        #expect(Set(read) == Set(ProcessConfiguration.sharedSettingNames))
    }

    @Test func `no shared setting is secret, because metrics show them`() throws {
        for name in ProcessConfiguration.sharedSettingNames {
            #expect(SettingsTable.setting(name)?.secrecy == .visible, "\(name)")
        }
    }

    @Test func `the guide names all of them`() throws {
        let guide = try String(contentsOf: Self.root.appending(path: "deploy/README.md"), encoding: .utf8)
        let section = try #require(guide.firstMatch(of: /(?s)\n### Settings of several gateways\n(.*?)\n##/)).1
        for name in ProcessConfiguration.sharedSettingNames { #expect(section.contains("`\(name)`"), "\(name)") }
    }
}
