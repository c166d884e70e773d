import Crypto
import Foundation
import TestSupport
import Testing

/// The settings of push messages, as a gateway reads them at its start.
@Suite struct PushConfigurationTests {
    private static let gateway = [
        "ENROUTE_REDIS_LIVE_URL": "unix:/nowhere.sock", "ENROUTE_TLS": "off", "ENROUTE_MANAGEMENT": "off",
        "ENROUTE_LISTEN_PORT": "0", "ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes",
    ]

    @Test(arguments: [
        (["ENROUTE_PUSH_KEY_FILE": "/nowhere.pem"], "ENROUTE_PUSH_KEY_FILE is /nowhere.pem, which cannot be read"),
        (["ENROUTE_PUSH_KEY_FILE": "/etc/hostname"], "openssl ecparam"),
        (["ENROUTE_PUSH_CONTACT": ""], "ENROUTE_PUSH_CONTACT"),
        (["ENROUTE_PUSH_CONTACT": "ops@example.com"], "ENROUTE_PUSH_CONTACT must be mailto:"),
        (["ENROUTE_PUSH_CA_FILE": "/etc/hostname"], "ENROUTE_PUSH_CA_FILE"),
        (["ENROUTE_PUSH_ALLOWED_NETWORKS": "10.0.0.0/33"], "ENROUTE_PUSH_ALLOWED_NETWORKS"),
    ])
    func `a wrong setting is reported by name, with what it must be`(wrong: [String: String], error: String)
        async throws
    {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-push-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = "\(folder)/push.pem"
        try P256.Signing.PrivateKey().pemRepresentation.write(toFile: path, atomically: true, encoding: .utf8)
        let settings = Self.gateway.merging([
            "ENROUTE_PUSH_KEY_FILE": path, "ENROUTE_PUSH_CONTACT": "mailto:ops@example.com",
        ]) { $1 }.merging(wrong) { $1 }
        let outcome = try await CommandTests.run(["serve"], environment: settings)
        #expect(outcome.code == 78 && outcome.error.contains(error), "\(outcome)")
    }
}
