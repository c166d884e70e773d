import Embedded
import NIOCore
import SecureSocket
import TestSupport
import Testing

@testable import Gateway

/// The log messages about a certificate that expires while a gateway runs.
struct CertificateWatchTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    @Test func `a problem is logged when it appears, each hour, and again after another certificate had none`() {
        let (early, expired) = (
            TLSConfigurationError.notYetValid(path: "a", at: "x"), TLSConfigurationError.expired(path: "a", at: "y")
        )
        let seen: [(problem: TLSConfigurationError?, minute: Int64, isLogged: Bool)] = [
            (nil, 0, false), (early, 0, true), (expired, 0, true), (expired, 59, false), (expired, 60, true),
            (nil, 61, false), (expired, 62, true),
        ]
        var reminders = CertificateWatch.Reminders()
        let logged = seen.map { reminders.isDue($0.problem, now: self.start + .minutes($0.minute)) }
        #expect(logged == seen.map(\.isLogged))
    }

    @Test(arguments: [(-3_600.0, 1), (3_600.0, 0)])
    func `an expired certificate is logged as an error with the remedy, and a valid one is not logged`(
        validity: Double, count: Int
    ) async throws {
        try await TemporaryFolder.holding("enroute-tls") { folder in
            let files = try TestAuthority().issue(
                .server(name: "localhost"), into: folder, as: "server", validity: validity)
            let lines = RecordedLines()
            let credentials = try TLSCredentials(
                certificateChain: files.certificate, privateKey: files.key, acceptsInvalidDates: true)
            var reminders = CertificateWatch.Reminders()
            CertificateWatch(credentials: credentials, logger: lines.logger).check(&reminders, now: self.start)
            #expect(lines.all.count == count)
            for line in lines.all {
                #expect(line.level == .error && line.message == "clients reject the certificate")
                #expect("\(line.metadata["reason"] ?? "")".contains("Renew it, then restart or send SIGHUP"))
            }
        }
    }
}
