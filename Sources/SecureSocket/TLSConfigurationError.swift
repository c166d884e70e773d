// What can be wrong with a certificate or its key, said so that whoever reads the log can put it right.
//
// libssl reports a missing file, a file that is not PEM and a wrong key with words like "no start line". A case here
// names the file, what is the matter and what to do. The diagnosis reads the file again, and only after a failure: what
// it finds is a hint, the refusal itself is libssl's.

internal import Glibc

/// Why a certificate or key can not be used. Expected: files are edited by people. Safe to repeat after the file was put
/// right.
package enum TLSConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file can not be opened or read; `reason` is the system's.
    case unreadable(path: String, reason: String)
    /// The file has no PEM block at all.
    case notPEM(path: String)
    /// The file has PEM blocks and no certificate among them.
    case noCertificate(path: String)
    /// The file has PEM blocks and no private key among them.
    case noPrivateKey(path: String)
    /// The key wants a passphrase, and there is nobody to ask.
    case encryptedKey(path: String)
    /// Both are sound, and do not belong together.
    case keyDoesNotMatch(certificateChain: String, privateKey: String)
    /// The file was read and libssl does not accept it, for example because the key is too short.
    case refused(path: String, reason: String)
    /// The server's own certificate has run out: every client refuses it.
    case expired(path: String, at: String)
    /// The server's own certificate is not valid yet.
    case notYetValid(path: String, at: String)
    /// A file of ticket keys that does not hold 80 bytes, or too many of them.
    case noTicketKey(path: String, reason: String)
    /// The file of the OCSP response holds none that could be sent.
    case noOCSPResponse(path: String, reason: String)
    /// libssl itself failed: no memory, or a build without what we ask of it.
    case library(String)

    package var description: String {
        switch self {
        case .unreadable(let path, let reason):
            "\(path) can not be read: \(reason). Check the path, and that this user may read the file."
        case .notPEM(let path):
            "\(path) is not PEM: it has no line '-----BEGIN …-----'. Convert it with "
                + "'openssl x509 -inform der' (a certificate) or 'openssl pkey -inform der' (a key)."
        case .noCertificate(let path):
            "\(path) holds no certificate. Give the chain as PEM: the server's certificate first, then the intermediates."
        case .noPrivateKey(let path):
            "\(path) holds no private key. Give the key of the server's certificate as PEM."
        case .encryptedKey(let path):
            "\(path) is encrypted with a passphrase. Give a plain key, for example made with 'openssl pkey -in … -out …'."
        case .keyDoesNotMatch(let certificateChain, let privateKey):
            "The key in \(privateKey) does not belong to the first certificate in \(certificateChain). "
                + "Give the pair that was issued together; the server's own certificate must come first."
        case .refused(let path, let reason):
            "\(path) is not accepted: \(reason). Have it issued anew, for example with an ECDSA P-256 key."
        case .expired(let path, let at):
            "The certificate in \(path) expired at \(at), and clients refuse it. Have it renewed, then start again or send SIGHUP."
        case .notYetValid(let path, let at):
            "The certificate in \(path) is valid only from \(at), and clients refuse it until then. "
                + "Check this machine's clock, or have another one issued."
        case .noTicketKey(let path, let reason):
            "\(path) is no key for session tickets: \(reason). Make one with 'openssl rand 80' and give it to every gateway."
        case .noOCSPResponse(let path, let reason):
            "\(path) can not be stapled: \(reason). `openssl ocsp -issuer … -cert … -url … -respout FILE` writes one."
        case .library(let reason):
            "libssl can not be set up: \(reason)."
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
        guard text.contains("-----BEGIN ") else { return .notPEM(path: path) }
        return content(text) ?? .refused(path: path, reason: reason)
    }
}

private struct Unreadable: Error {
    let reason: String

    init() { self.reason = String(cString: strerror(errno)) }
}

/// A chain of certificates is a few kilobytes: reading stops after this many bytes.
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
