// PROXY protocol headers. Every prefix is undecided or agrees with the whole, bytes after the header change nothing,
// and a reference that is implemented differently gives the same result.

import NIOCore

@testable import TrafficControl

/// Input: the first bytes of a connection.
enum ProxyHeaderCheck {
    static func run(_ input: [UInt8]) throws(Disagreement) {
        let whole = self.parse(input)
        for count in 0..<min(input.count, 600) {
            let start = self.parse(Array(input.prefix(count)))
            try require(
                start == .needsMoreBytes || start == whole, "\(count) bytes are \(start), and all of them \(whole)")
        }
        if whole != .needsMoreBytes {
            try require(self.parse(input + [0x0D, 0x0A, 0x16]) == whole, "later bytes change \(whole)")
        }
        if case .complete(_, let length) = whole {
            try require(length <= min(input.count, ProxyHeader.mostBytes), "\(length) bytes of \(input.count)")
        }
        let expected = self.reference(input)
        try require(whole == expected, "read \(whole) where the reference says \(expected)")
    }

    private static func parse(_ bytes: [UInt8]) -> ProxyHeader.Parsing { bytes.withUnsafeBytes(ProxyHeader.parse) }

    // MARK: reference

    private static let signature = Array("\r\n\r\n\0\r\nQUIT\n".utf8)

    private static func reference(_ input: [UInt8]) -> ProxyHeader.Parsing {
        if input.starts(with: Array("PROXY ".utf8)) { return self.line(input) }
        if input.starts(with: self.signature) { return self.binary(input) }
        let isStart = Array("PROXY ".utf8).starts(with: input) || self.signature.starts(with: input)
        return isStart ? .needsMoreBytes : .invalid(.missing)
    }

    private static func line(_ input: [UInt8]) -> ProxyHeader.Parsing {
        let end = (0..<min(input.count, 107)).first { input[$0] == 0x0A }
        guard let end else { return input.count < 107 ? .needsMoreBytes : .invalid(.malformed) }
        guard input[end - 1] == 0x0D else { return .invalid(.malformed) }
        let text = String(decoding: input[..<(end - 1)], as: UTF8.self)
        if text == "PROXY UNKNOWN" || text.hasPrefix("PROXY UNKNOWN ") { return .complete(.local, length: end + 1) }
        let port = #"(0|[1-9][0-9]{0,4})"#
        guard
            let form = try? Regex(
                "PROXY TCP([46]) ([^ ]+) ([^ ]+) \(port) \(port)",
                as: (Substring, Substring, Substring, Substring, Substring, Substring).self),
            let match = text.wholeMatch(of: form)?.output,
            let source = try? SocketAddress(ipAddress: String(match.2), port: min(Int(match.4) ?? 0, 65_535)),
            let destination = try? SocketAddress(ipAddress: String(match.3), port: 1),
            let from = Int(match.4), let to = Int(match.5), from < 65_536, to < 65_536
        else { return .invalid(.malformed) }
        switch (match.1, source, destination) {
        case ("4", .v4, .v4), ("6", .v6, .v6): break
        default: return .invalid(.malformed)
        }
        return .complete(.client(source), length: end + 1)
    }

    private static func binary(_ input: [UInt8]) -> ProxyHeader.Parsing {
        guard input.count >= 16 else { return .needsMoreBytes }
        let count = Int(input[14]) * 256 + Int(input[15])
        guard input[12] >> 4 == 2, input[12] & 15 < 2 else { return .invalid(.malformed) }
        guard count + 16 <= ProxyHeader.mostBytes else { return .invalid(.tooLong) }
        guard input.count >= count + 16 else { return .needsMoreBytes }
        let (isLocal, family) = (input[12] & 15 == 0, input[13])
        if isLocal || family == 0 { return .complete(.local, length: count + 16) }
        let sizes: [UInt8: (address: Int, all: Int)] = [0x11: (4, 12), 0x21: (16, 36), 0x31: (108, 216)]
        guard let size = sizes[family], count >= size.all else { return .invalid(.malformed) }
        if family == 0x31 { return .complete(.local, length: count + 16) }
        let port = 16 + 2 * size.address
        let source = try? SocketAddress(
            packedIPAddress: ByteBuffer(bytes: input[16..<(16 + size.address)]),
            port: Int(input[port]) * 256 + Int(input[port + 1]))
        return source.map { .complete(.client($0), length: count + 16) } ?? .invalid(.malformed)
    }
}
