// The push service of the tests: a TLS server on this machine, and the settings with which a gateway reaches it.

import Crypto
import Foundation
import Push
import TestSupport
import Webhooks

/// `https://push.invalid:port`, with a certificate of an authority that only the tests trust.
enum LocalPushService {
    /// Runs the service.
    ///
    /// - Parameters:
    ///   - allowed: the addresses to which a gateway may connect.
    ///   - addresses: what the lookup of `push.invalid` returns.
    static func run(
        allowed: [AddressRange] = [AddressRange("127.0.0.0/8")!], at addresses: [String] = ["127.0.0.1"],
        answers: @escaping ProviderServer.Behaviour = { _ in .json("{}", status: 201) },
        _ body: @escaping @Sendable (PushSettings, ProviderServer) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-push-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let authority = try TestAuthority()
        let files = try authority.issue(.server(name: "push.invalid"), into: folder, as: "push")
        var settings = try PushSettings(
            key: PushKey(pem: P256.Signing.PrivateKey().pemRepresentation, contact: "mailto:ops@example.com"),
            resolver: HostResolver(rule: AddressRule(allowed: allowed)) { _ in
                addresses.compactMap { IPAddress($0) }
            }, authorities: authority.write(into: folder))
        settings.pauses = [.milliseconds(10), .milliseconds(10)]
        try await ProviderServer.running(answers, certificate: files) { [settings] service in
            try await body(settings, service)
        }
    }
}
