// The reasons of TLS failures, as BoringSSL's codes. NIOSSL's own descriptions also contain source paths of the build machine.

internal import NIOSSL

package enum TLSCodes {
    package static let untrusted = "CERTIFICATE_VERIFY_FAILED"
    /// The server's first bytes are not TLS.
    package static let withoutTLS: Set = ["WRONG_VERSION_NUMBER", "HTTP_REQUEST"]

    /// The codes of a NIOSSL error, for example `CERTIFICATE_VERIFY_FAILED`; its description if it has none.
    package static func of(_ error: any Error) -> [String] {
        switch error {
        case NIOSSLError.handshakeFailed(let failure), NIOSSLError.shutdownFailed(let failure): self.of(failure)
        case BoringSSLError.sslError(let stack), BoringSSLError.unknownError(let stack),
            BoringSSLError.invalidSNIName(let stack), BoringSSLError.failedToSetALPN(let stack):
            stack.map(self.code)
        default: ["\(error)"]
        }
    }

    /// Converts codes to text: `TLSV1_ALERT_UNKNOWN_CA` becomes `tlsv1 alert unknown ca`.
    package static func words(_ codes: [String]) -> String {
        codes.map { $0.contains("_") ? $0.replacing("_", with: " ").lowercased() : $0 }.joined(separator: ", ")
    }

    /// Why TLS failed, without an address.
    ///
    /// - Returns: `nil` if it is not a TLS error.
    package static func reason(_ error: any Error) -> String? {
        switch error {
        case NIOSSLError.uncleanShutdown, NIOSSLError.handshakeFailed(.sslError([.eofDuringHandshake])),
            NIOSSLError.handshakeFailed(.syscallError):
            "the server closed the connection"
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            "the server's certificate is not valid for the host"
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: self.reason(codes: self.of(error))
        default: nil
        }
    }

    private static func reason(codes: [String]) -> String {
        if codes.contains(self.untrusted) {
            // BoringSSL's error does not say which of them.
            return
                "the server's certificate has expired, is not valid yet, or is not signed by a trusted CA: check its "
                + "dates and its chain"
        }
        if !self.withoutTLS.isDisjoint(with: codes) { return "the server does not use TLS on this port" }
        return "TLS failed: \(self.words(codes))"
    }

    /// Extracts the code: `CERTIFICATE_VERIFY_FAILED` from `Error: 268435581 error:1000007d:SSL
    /// routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at file:line`.
    private static func code(_ error: BoringSSLInternalError) -> String {
        let text = error.description
        guard let start = text.firstRange(of: "OPENSSL_internal:")?.upperBound else { return "unknown error" }
        let rest = text[start...]
        return String(rest[..<(rest.firstRange(of: " at ")?.lowerBound ?? rest.endIndex)])
    }
}
