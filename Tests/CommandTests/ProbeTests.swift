import Foundation
import Subprocess
import TestSupport
import Testing

@testable import enroute

/// `enroute probe` against a running gateway, as the health check of a container runs it.
@Suite(.needsMachine(for: .volume)) struct ProbeTests {
    private static func probe(_ port: Int, _ words: String...) async throws -> CommandTests.Outcome {
        try await CommandTests.run(["probe"] + words, environment: ["ENROUTE_MANAGEMENT_PORT": "\(port)"])
    }

    @Test func `a probe reports whether a gateway is ready, stopping, frozen or gone`() async throws {
        let status = try await ServeTests.serve(["ENROUTE_DRAIN_ACCEPT_SECONDS": "600"]) { served in
            #expect(try await served.eventually("/readyz", "HTTP/1.1 200 "))
            for words in [[], ["--live"]] {
                let outcome = try await CommandTests.run(
                    ["probe"] + words, environment: ["ENROUTE_MANAGEMENT_PORT": "\(served.management)"])
                #expect(outcome.code == 0 && outcome.output == (words.isEmpty ? "ready\n" : "live\n"), "\(outcome)")
            }
            try served.send(.terminate)
            #expect(try await served.eventually("/readyz", "stopping"))
            let stopping = try await Self.probe(served.management)
            #expect(stopping.code == 1 && stopping.output == "not ready: the gateway is stopping\n", "\(stopping)")
            #expect(try await Self.probe(served.management, "--live").code == 0)
            try served.send(.suspend)
            let frozen = try await Self.probe(served.management, "--live")
            #expect(frozen.code == 69 && frozen.error.contains("does not respond"), "\(frozen)")
            try served.send(.kill)
        }
        #expect(status == .signaled(SIGKILL))
    }

    @Test func `a probe of a port where nothing listens ends with 69 and names the settings`() async throws {
        // Bound, but nobody listens: no other process can take the port meanwhile.
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                try #require(bind(descriptor, $0, length) == 0)
                try #require(getsockname(descriptor, $0, &length) == 0)
            }
        }
        let outcome = try await Self.probe(Int(UInt16(bigEndian: address.sin_port)))
        #expect(outcome.code == 69 && outcome.error.contains("ENROUTE_MANAGEMENT_PORT"), "\(outcome)")
        #expect(outcome.output.isEmpty)
    }

    @Test(arguments: [
        (["ENROUTE_MANAGEMENT": "off"], "ENROUTE_MANAGEMENT is off"),
        (["ENROUTE_MANAGEMENT_PORT": "0"], "ENROUTE_MANAGEMENT_PORT is 0"),
        (["ENROUTE_MANAGMENT_PORT": "9464"], "ENROUTE_MANAGEMENT_PORT"),
    ])
    func `a probe without a known port is an invalid configuration`(settings: [String: String], reason: String)
        async throws
    {
        let outcome = try await CommandTests.run(["probe"], environment: settings)
        #expect(outcome.code == 78 && outcome.error.contains(reason), "\(outcome)")
    }

    @Test(arguments: [
        ([:], "127.0.0.1:9464"), (["HOST": "0.0.0.0", "PORT": "9000"], "127.0.0.1:9000"),
        (["HOST": "::"], "[::1]:9464"),
        (["HOST": "[::]"], "[::1]:9464"), (["HOST": "[fd00::7]"], "[fd00::7]:9464"),
        (["HOST": "gateway.example"], "gateway.example:9464"),
    ])
    func `a listener on all addresses is probed on loopback`(settings: [String: String], authority: String) throws {
        let environment = Dictionary(uniqueKeysWithValues: settings.map { ("ENROUTE_MANAGEMENT_\($0)", $1) })
        let configuration = ProcessConfiguration(SettingSources(environment: environment, file: nil))
        #expect(try configuration.managementAuthority() == authority)
    }
}
