// Parses the URL of a gateway.

/// The host and port of a gateway, and whether it uses TLS.
struct GatewayAddress: Hashable {
    let host: String
    let port: Int
    let isSecure: Bool

    /// - Parameter url: `wss://host[:port]` or `ws://host[:port]`, with or without a slash at the end.
    init(_ url: String) throws(ClientError) {
        let parts = url.split(separator: "://", maxSplits: 1)
        guard parts.count == 2, parts[0] == "wss" || parts[0] == "ws" else { throw .malformedURL(url) }
        self.isSecure = parts[0] == "wss"
        let authority = parts[1].hasSuffix("/") ? parts[1].dropLast() : parts[1]
        guard !authority.isEmpty, !authority.contains(where: { "/?#@".contains($0) }) else { throw .malformedURL(url) }
        let pieces = authority.split(separator: ":", omittingEmptySubsequences: false)
        switch (pieces.count, pieces.dropFirst().first.flatMap { UInt16($0) }) {
        case (1, nil): self.port = self.isSecure ? 443 : 80
        case (2, let port?): self.port = Int(port)
        default: throw .malformedURL(url)
        }
        self.host = String(pieces[0])
    }

    /// Whether the host is a name. The TLS handshake contains only names, no addresses (RFC 6066 section 3).
    var isName: Bool { !self.host.allSatisfy { $0.isNumber || $0 == "." } }
}
