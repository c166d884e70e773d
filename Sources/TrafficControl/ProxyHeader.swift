// The PROXY protocol, versions 1 and 2 (HAProxy, "The PROXY protocol", 2020-03-05). A layer-4 balancer passes TLS
// through, so it cannot add `X-Forwarded-For`. Instead it sends one header with the client's address before the first
// byte of the connection.

package import NIOCore

/// A parsed PROXY protocol header.
package enum ProxyHeader: Hashable, Sendable {
    /// The balancer speaks for itself, for example to check the gateway's health, or does not know the client
    /// (`LOCAL`, `UNKNOWN`, `AF_UNSPEC`, `AF_UNIX`). The connection's own address counts.
    case local
    /// The balancer forwards a connection from this address.
    case client(SocketAddress)

    /// The result of parsing the first bytes of a connection.
    package enum Parsing: Hashable, Sendable {
        case needsMoreBytes
        /// - Parameter length: the length of the header in bytes. The client's own bytes follow.
        case complete(ProxyHeader, length: Int)
        case invalid(Fault)
    }

    /// Why the first bytes of a connection are not a PROXY protocol header.
    package enum Fault: String, Error, Hashable, Sendable, CaseIterable {
        /// The connection starts with something else: the sender does not speak the PROXY protocol.
        case missing
        /// The signature is present, but the rest violates the specification.
        case malformed
        /// The header is valid, but longer than `mostBytes`.
        case tooLong = "too_long"
    }

    /// The longest accepted header, bytes. The specification requires 536, which fit into one segment of any network;
    /// TLVs such as a client certificate's subject may need more.
    package static let mostBytes = 4096

    /// The longest header of version 1 with its CRLF, bytes (section 2.1).
    private static let mostLineBytes = 107
    private static let lineStart = Array("PROXY ".utf8)
    private static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]

    /// Parses the first bytes of a connection. Cost: O(header's length); a caller that receives single bytes parses again.
    package static func parse(_ bytes: UnsafeRawBufferPointer) -> Parsing {
        if self.lineStart.starts(with: bytes.prefix(self.lineStart.count)) {
            return bytes.count < self.lineStart.count ? .needsMoreBytes : self.parseLine(bytes)
        }
        if self.signature.starts(with: bytes.prefix(self.signature.count)) {
            // The signature, version and command, family and protocol, and the length of what follows.
            return bytes.count < 16 ? .needsMoreBytes : self.parseBinary(bytes)
        }
        return .invalid(.missing)
    }

    /// Returns whether these bytes are the start of a header, valid or not. A request whose method starts with P is not.
    package static func isAnnounced(by bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count >= self.lineStart.count && self.parse(bytes) != .invalid(.missing)
    }

    // MARK: version 1

    /// `PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n`
    private static func parseLine(_ bytes: UnsafeRawBufferPointer) -> Parsing {
        let window = bytes.prefix(self.mostLineBytes)
        guard let end = window.firstIndex(of: UInt8(ascii: "\n")) else {
            return window.count < self.mostLineBytes ? .needsMoreBytes : .invalid(.malformed)
        }
        guard window[end - 1] == UInt8(ascii: "\r") else { return .invalid(.malformed) }
        let line = String(decoding: window[..<(end - 1)], as: UTF8.self)
        let fields = line.split(separator: " ", omittingEmptySubsequences: false)
        let length = end + 1
        // Whatever follows UNKNOWN is to be ignored (section 2.1).
        if fields[1] == "UNKNOWN" { return .complete(.local, length: length) }
        guard fields.count == 6, let sourcePort = self.port(fields[4]), self.port(fields[5]) != nil,
            let source = try? SocketAddress(ipAddress: String(fields[2]), port: sourcePort),
            let destination = try? SocketAddress(ipAddress: String(fields[3]), port: 0)
        else { return .invalid(.malformed) }
        switch (fields[1], source, destination) {
        case ("TCP4", .v4, .v4), ("TCP6", .v6, .v6): return .complete(.client(source), length: length)
        default: return .invalid(.malformed)
        }
    }

    private static func port(_ text: Substring) -> Int? {
        guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            text == "0" || text.first != "0", let port = Int(text), port <= 65_535
        else { return nil }
        return port
    }

    // MARK: version 2

    private static func parseBinary(_ bytes: UnsafeRawBufferPointer) -> Parsing {
        let (command, family) = (bytes[12], bytes[13])
        let length = 16 + (Int(bytes[14]) << 8 | Int(bytes[15]))
        guard command == 0x20 || command == 0x21 else { return .invalid(.malformed) }
        guard length <= self.mostBytes else { return .invalid(.tooLong) }
        guard bytes.count >= length else { return .needsMoreBytes }
        // LOCAL: the receiver skips the addresses, whatever they are (section 2.2).
        guard command == 0x21 else { return .complete(.local, length: length) }
        let addresses = UnsafeRawBufferPointer(rebasing: bytes[16..<length])
        switch family {
        case 0x11:
            // Both addresses, then both ports, in network byte order. TLVs may follow, which Enroute does not need.
            guard addresses.count >= 12 else { return .invalid(.malformed) }
            return self.complete(addresses.prefix(4), port: addresses[8..<10], length: length)
        case 0x21:
            guard addresses.count >= 36 else { return .invalid(.malformed) }
            return self.complete(addresses.prefix(16), port: addresses[32..<34], length: length)
        // A stream over a Unix socket, and a family that the balancer does not know.
        case 0x31: return addresses.count >= 216 ? .complete(.local, length: length) : .invalid(.malformed)
        case 0x00: return .complete(.local, length: length)
        default: return .invalid(.malformed)
        }
    }

    private static func complete(
        _ address: UnsafeRawBufferPointer.SubSequence, port: UnsafeRawBufferPointer.SubSequence, length: Int
    ) -> Parsing {
        let port = port.reduce(0) { $0 << 8 | Int($1) }
        guard let source = try? SocketAddress(packedIPAddress: ByteBuffer(bytes: address), port: port) else {
            return .invalid(.malformed)
        }
        return .complete(.client(source), length: length)
    }
}
