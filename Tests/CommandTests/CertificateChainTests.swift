import Embedded
import Foundation
import Subprocess
import TestSupport
import Testing

/// Certificate files without the intermediate certificate of the CA, which some clients reject.
@Suite struct CertificateChainTests {
    private static func settings(_ folder: String, _ redis: RedisServer) -> [String: String] {
        [
            "ENROUTE_REDIS_LIVE_URL": redis.url, "ENROUTE_MODE": "development", "ENROUTE_MANAGEMENT": "off",
            "ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes", "ENROUTE_EVENT_LOOPS": "1",
            "ENROUTE_LISTEN_HOST": "127.0.0.1", "ENROUTE_LISTEN_PORT": "0",
            "ENROUTE_TLS_CERTIFICATE_FILE": "\(folder)/server.pem", "ENROUTE_TLS_KEY_FILE": "\(folder)/server-key.pem",
        ]
    }

    /// Writes a certificate that names its CA, with or without the CA's certificate.
    private static func write(to folder: String, isComplete: Bool) throws {
        let authority = try TestAuthority()
        let files = try authority.issue(
            .server(name: "localhost"), into: folder, as: "server", issuerURL: "http://ca.example/ca.der")
        guard isComplete else { return }
        let chain = try String(contentsOfFile: files.certificate, encoding: .utf8) + authority.certificatePEM
        try chain.write(toFile: files.certificate, atomically: true, encoding: .utf8)
    }

    @Test(arguments: [true, false])
    func `check warns about a certificate whose CA is not in the file`(isComplete: Bool) async throws {
        try await TemporaryFolder.holding("enroute-chain") { folder in
            try Self.write(to: folder, isComplete: isComplete)
            try await withServer { redis in
                let outcome = try await CommandTests.run(["check"], environment: Self.settings(folder, redis))
                #expect(outcome.code == 0, "\(outcome)")
                let isFound = outcome.output.contains("\(folder)/server.pem lacks the certificate of the CA")
                #expect(isFound != isComplete, "\(outcome)")
            }
        }
    }

    @Test func `a gateway logs an incomplete chain at its start and after each reload`() async throws {
        try await TemporaryFolder.holding("enroute-chain") { folder in
            try Self.write(to: folder, isComplete: false)
            try await withServer { redis in
                let variables = ["PATH": "/usr/bin:/bin"].merging(Self.settings(folder, redis)) { $1 }
                    .reduce(into: [Environment.Key: String]()) { $0[Environment.Key(rawValue: $1.key)!] = $1.value }
                let found = try await Subprocess.run(
                    .path(.init(CommandTests.binary)), arguments: ["serve"], environment: .custom(variables),
                    input: .none, output: .sequence, error: .combinedWithOutput
                ) { execution in
                    // At the start, after a reload of the same file, and after a reload of a complete file.
                    var (found, isIncomplete) = ([Bool](), false)
                    for try await line in execution.standardOutput.strings() {
                        if line.contains("certificate chain incomplete") { isIncomplete = true }
                        guard line.contains("enroute: listening") || line.contains("certificates reloaded") else {
                            continue
                        }
                        found.append(isIncomplete)
                        isIncomplete = false
                        guard found.count < 3 else { break }
                        if found.count == 2 { try Self.write(to: folder, isComplete: true) }
                        try execution.send(signal: Signal(rawValue: SIGHUP))
                    }
                    try? execution.send(signal: .kill)
                    return found
                }.closureResult
                #expect(found == [true, true, false])
            }
        }
    }
}
