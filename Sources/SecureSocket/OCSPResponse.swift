// OCSP stapling (RFC 6066 section 8): the handshake contains the certificate's revocation status, so clients do not
// have to query the CA. An external job fetches the response and sends SIGHUP. An expired response is not sent.

internal import COpenSSL
internal import Glibc

/// An OCSP response from a file.
struct OCSPResponse {
    private let bytes: [UInt8]
    private let until: time_t

    /// Far more than a response needs.
    private static let maxBytes = 65_536

    /// Reads the file; blocks on disk I/O.
    init(file path: String) throws(TLSConfigurationError) {
        guard let file = fopen(path, "rb") else {
            throw .unreadable(path: path, reason: String(cString: strerror(errno)))
        }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: Self.maxBytes)
        let count = fread(&bytes, 1, bytes.count, file)
        self.bytes = Array(bytes.prefix(count))
        let until = enroute_ocsp_until(self.bytes, self.bytes.count)
        switch until {
        case -1: throw .noOCSPResponse(path: path, reason: "it does not contain an OCSP response in DER")
        case -2: throw .noOCSPResponse(path: path, reason: "the responder returned an error")
        default: self.until = until == 0 ? .max : until
        }
    }

    func install(in context: OpaquePointer) throws(TLSConfigurationError) {
        guard enroute_SSL_CTX_set_ocsp(context, Self.index, self.bytes, CInt(self.bytes.count), self.until) == 1 else {
            throw .library(takeErrorReason())
        }
    }

    /// Index of each SSL_CTX's copy.
    private static let index = enroute_new_ocsp_index()
}
