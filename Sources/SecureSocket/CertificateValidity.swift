// The validity period of the listener's certificate. libssl presents an expired certificate without an error, and every client
// rejects it, so the dates are checked when the files are read.

internal import COpenSSL
internal import Glibc

/// The validity period of a certificate, in seconds since the epoch.
package struct CertificateValidity: Hashable, Sendable {
    package var from: Int64
    package var until: Int64

    package init(from: Int64, until: Int64) { (self.from, self.until) = (from, until) }

    /// - Returns: `nil` when it cannot be read.
    init?(of context: OpaquePointer) {
        var (from, until) = (Int64(0), Int64(0))
        guard enroute_SSL_CTX_validity(context, &from, &until) == 1 else { return nil }
        (self.from, self.until) = (from, until)
    }

    /// Returns why clients reject the certificate at that time, or `nil` (RFC 5280, 4.1.2.5: both dates are inclusive).
    package func problem(in certificateChain: String, at now: Int64 = Int64(time(nil))) -> TLSConfigurationError? {
        if now > self.until { return .expired(path: certificateChain, at: Self.text(self.until)) }
        if now < self.from { return .notYetValid(path: certificateChain, at: Self.text(self.from)) }
        return nil
    }

    /// `2026-11-23 09:30:00 UTC`
    private static func text(_ seconds: Int64) -> String {
        var (moment, parts) = (time_t(seconds), tm())
        gmtime_r(&moment, &parts)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
            let count = strftime(text.baseAddress!, text.count, "%Y-%m-%d %H:%M:%S UTC", &parts)
            return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }
}
