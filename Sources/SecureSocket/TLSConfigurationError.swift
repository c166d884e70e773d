// The problems of a certificate or its key, in messages that an operator can act on.
//
// libssl reports a missing file, a file that is not PEM and a wrong key with texts such as "no start line". Each case
// here contains the file, the problem and the remedy. To find the problem, the file is read again after libssl has
// failed. The result is only a hint, because libssl made the decision.

internal import Glibc

/// Why a certificate or key cannot be used. Expected, because people edit these files. A caller may retry after the
/// file was corrected.
package enum TLSConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file cannot be opened or read; `reason` comes from the system.
    case unreadable(path: String, reason: String)
    /// The file contains no PEM block.
    case notPEM(path: String)
    /// A PEM block of the file has no last line.
    case truncated(path: String)
    /// The file is empty, or contains PEM blocks, but no certificate.
    case noCertificate(path: String)
    /// The file is empty, or contains PEM blocks, but no private key.
    case noPrivateKey(path: String)
    /// The key requires a passphrase, which a server cannot enter.
    case encryptedKey(path: String)
    /// Both are valid, but do not belong together.
    case keyDoesNotMatch(certificateChain: String, privateKey: String)
    /// libssl rejects the content of the file, for example because the key is too short.
    case refused(path: String, reason: String)
    /// The server's own certificate has expired: every client rejects it.
    case expired(path: String, at: String)
    /// The server's own certificate is not valid yet.
    case notYetValid(path: String, at: String)
    /// The certificate is not self-signed, and the file does not contain the certificate of its issuer.
    case noIssuer(path: String)
    /// A file of session ticket keys does not contain exactly 80 bytes, or there are too many files.
    case noTicketKey(path: String, reason: String)
    /// The file contains no OCSP response that could be sent.
    case noOCSPResponse(path: String, reason: String)
    /// libssl itself failed: out of memory, or built without a required feature.
    case library(String)

    package var description: String {
        switch self {
        case .unreadable(let path, let reason):
            "\(path) cannot be read: \(reason). Check the path and the permissions of the file."
        case .notPEM(let path):
            "\(path) is not PEM: it has no line '-----BEGIN …-----'. Convert it with "
                + "'openssl x509 -inform der' (certificate) or 'openssl pkey -inform der' (key)."
        case .truncated(let path):
            "\(path) is incomplete: it has a line '-----BEGIN …-----' without its '-----END …-----'. Copy the file again."
        case .noCertificate(let path):
            "\(path) contains no certificate. "
                + "Provide the chain as PEM: the server's certificate first, then the intermediates."
        case .noPrivateKey(let path):
            "\(path) contains no private key. Provide the key of the server's certificate as PEM."
        case .encryptedKey(let path):
            "\(path) is encrypted with a passphrase. Decrypt it, for example with 'openssl pkey -in … -out …'."
        case .keyDoesNotMatch(let certificateChain, let privateKey):
            "The key in \(privateKey) does not belong to the first certificate in \(certificateChain). "
                + "Use a certificate and key that were issued together, and put the server's own certificate first."
        case .refused(let path, let reason):
            "\(path) was rejected: \(reason). Have it reissued, for example with an ECDSA P-256 key."
        case .expired(let path, let at):
            "The certificate in \(path) expired at \(at), so clients reject it. Renew it, then restart or send SIGHUP."
        case .notYetValid(let path, let at):
            "The certificate in \(path) is not valid before \(at), so clients reject it. "
                + "Check this machine's clock, or have another certificate issued."
        case .noIssuer(let path):
            "\(path) lacks the certificate of the CA that issued the server's, so clients without it reject the "
                + "connection. Append the CA's intermediate certificates, or use its file with the whole chain."
        case .noTicketKey(let path, let reason):
            "\(path) is not a session ticket key: \(reason). "
                + "Create one with 'openssl rand 80' and give it to every gateway."
        case .noOCSPResponse(let path, let reason):
            "\(path) cannot be stapled: \(reason). "
                + "Create one with `openssl ocsp -issuer … -cert … -url … -respout FILE`."
        case .library(let reason):
            "libssl cannot be set up: \(reason)."
        }
    }

    static func diagnose(certificateChain path: String, reason: String) -> Self {
        self.diagnose(path, reason) { text in
            text.contains("-----BEGIN CERTIFICATE-----") || text.contains("-----BEGIN TRUSTED CERTIFICATE-----")
                ? nil : .noCertificate(path: path)
        }
    }

    static func diagnose(privateKey path: String, reason: String) -> Self {
        self.diagnose(path, reason) { text in
            if text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") || text.contains("Proc-Type: 4,ENCRYPTED") {
                return .encryptedKey(path: path)
            }
            return text.contains("PRIVATE KEY-----") ? nil : .noPrivateKey(path: path)
        }
    }

    private static func diagnose(_ path: String, _ reason: String, content: (String) -> Self?) -> Self {
        let text: String
        switch read(path) {
        case .success(let bytes): text = String(decoding: bytes, as: UTF8.self)
        case .failure(let failure): return .unreadable(path: path, reason: failure.reason)
        }
        guard text.contains("-----BEGIN ") || text.allSatisfy(\.isWhitespace) else { return .notPEM(path: path) }
        if let problem = content(text) { return problem }
        let isTruncated = text.ranges(of: "-----BEGIN ").count > text.ranges(of: /-----END [A-Z0-9 ]+-----/).count
        return isTruncated ? .truncated(path: path) : .refused(path: path, reason: reason)
    }
}

private struct Unreadable: Error {
    let reason: String

    init() { self.reason = String(cString: strerror(errno)) }
}

/// The maximum number of bytes to read: a certificate chain has a few kilobytes.
private let readLimitBytes = 1 << 20

private func read(_ path: String) -> Result<[UInt8], Unreadable> {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return .failure(Unreadable()) }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16384)
    while bytes.count < readLimitBytes {
        let count = Glibc.read(descriptor, &chunk, chunk.count)
        guard count >= 0 else { return .failure(Unreadable()) }
        if count == 0 { break }
        bytes.append(contentsOf: chunk.prefix(count))
    }
    return .success(bytes)
}
