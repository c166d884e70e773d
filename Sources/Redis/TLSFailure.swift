// Readable reasons for TLS failures with Redis, and advice on its URL.

internal import NIOSSL
internal import NetworkErrors

private import Glibc

enum TLSFailure {
    /// Returns the error of a connection: that it ended, or the TLS problem with advice.
    ///
    /// - Parameter certificate: the server's, if it has sent one.
    static func error(_ error: any Error, certificate: @autoclosure () -> NIOSSLCertificate?) -> RedisError {
        switch error {
        case NIOSSLError.uncleanShutdown, NIOSSLError.handshakeFailed(.sslError([.eofDuringHandshake])),
            NIOSSLError.handshakeFailed(.syscallError):
            .connectionLost
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            .tlsFailed(
                reason:
                    "the server's certificate is not valid for the host in the URL. Set name= in the URL to a name in "
                    + "the certificate")
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            self.error(TLSCodes.of(error), certificate)
        default: .connectionLost
        }
    }

    /// Why files cannot be used.
    static func text(ofFiles error: any Error) -> String {
        switch error {
        case NIOSSLError.noSuchFilesystemObject: "no such file"
        case NIOSSLError.failedToLoadCertificate: "a certificate cannot be read"
        case NIOSSLError.failedToLoadPrivateKey: "the key cannot be read or does not belong to the certificate"
        default: TLSCodes.words(TLSCodes.of(error))
        }
    }

    private static func error(_ codes: [String], _ certificate: () -> NIOSSLCertificate?) -> RedisError {
        guard codes.contains(TLSCodes.untrusted) else { return .tlsFailed(reason: self.reason(codes)) }
        return self.error(of: certificate())
    }

    private static func reason(_ codes: [String]) -> String {
        if !TLSCodes.withoutTLS.isDisjoint(with: codes) {
            return "the server does not use TLS on this port. Use its TLS port, or redis:// instead of rediss://"
        }
        if !self.codesOfClientCertificates.isDisjoint(with: codes) {
            return
                "the server refused the connection (\(TLSCodes.words(codes))). If it requires a client certificate, set "
                + "cert= and key= in the URL"
        }
        return "\(TLSCodes.words(codes)). Check ca= and name= in the URL, and that the port uses TLS"
    }

    /// Why a certificate does not pass validation.
    private static func error(of certificate: NIOSSLCertificate?) -> RedisError {
        let now = time(nil)
        if let certificate, certificate.notValidAfter < now { return .certificateExpired }
        if let certificate, certificate.notValidBefore > now { return .certificateNotYetValid }
        return .tlsFailed(
            reason:
                "the server's certificate is not signed by a trusted CA. Set ca= in the URL to the file of its CA")
    }

    private static let codesOfClientCertificates: Set = [
        "TLSV1_ALERT_CERTIFICATE_REQUIRED", "SSLV3_ALERT_HANDSHAKE_FAILURE", "SSLV3_ALERT_BAD_CERTIFICATE",
        "SSLV3_ALERT_CERTIFICATE_UNKNOWN", "SSLV3_ALERT_CERTIFICATE_EXPIRED", "TLSV1_ALERT_UNKNOWN_CA",
    ]
}
