import NIOCore
import Testing

@testable import TrafficControl

/// The PROXY protocol's specification, byte for byte.
@Suite struct ProxyHeaderTests {
    private static func parse(_ bytes: [UInt8]) -> ProxyHeader.Parsing { bytes.withUnsafeBytes(ProxyHeader.parse) }

    private static func parse(_ line: String) -> ProxyHeader.Parsing { self.parse(Array(line.utf8)) }

    private static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]

    private static func binary(_ command: UInt8, _ family: UInt8, _ payload: [UInt8]) -> [UInt8] {
        self.signature + [command, family, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)] + payload
    }

    private static let ipv4: [UInt8] = [192, 0, 2, 1, 198, 51, 100, 7, 0xDC, 0x04, 0x01, 0xBB]
    private static let ipv6: [UInt8] =
        [0x20, 0x01, 0x0D, 0xB8] + Array(repeating: 0, count: 11) + [0x01]
        + [0x20, 0x01, 0x0D, 0xB8] + Array(repeating: 0, count: 11) + [0x02] + [0xDC, 0x04, 0x01, 0xBB]

    private static func address(_ text: String) throws -> SocketAddress {
        try SocketAddress(ipAddress: text, port: 56_324)
    }

    @Test func `version 1 names the client of a TCP connection over IPv4 and IPv6`() throws {
        let four = "PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n"
        #expect(Self.parse(four) == .complete(.client(try Self.address("192.0.2.1")), length: four.utf8.count))
        let six = "PROXY TCP6 2001:db8::1 2001:db8::2 56324 443\r\n"
        #expect(Self.parse(six) == .complete(.client(try Self.address("2001:db8::1")), length: six.utf8.count))
    }

    @Test(arguments: ["PROXY UNKNOWN\r\n", "PROXY UNKNOWN ffff::1 nonsense 1 2\r\n"])
    func `version 1 without a known client leaves the connection's own address`(line: String) {
        #expect(Self.parse(line) == .complete(.local, length: line.utf8.count))
    }

    @Test(arguments: [
        "PROXY TCP4 192.0.2.1 198.51.100.7 56324\r\n", "PROXY TCP4 192.0.2.1 198.51.100.7 56324 443 \r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.7 65536 443\r\n", "PROXY TCP4 192.0.2.1 198.51.100.7 0443 443\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.7 -1 443\r\n", "PROXY TCP4 2001:db8::1 2001:db8::2 1 2\r\n",
        "PROXY TCP6 192.0.2.1 198.51.100.7 1 2\r\n", "PROXY TCP4 192.0.2.1 2001:db8::2 1 2\r\n",
        "PROXY TCP5 192.0.2.1 198.51.100.7 1 2\r\n", "PROXY TCP4  192.0.2.1 198.51.100.7 1 2\r\n",
        "PROXY tcp4 192.0.2.1 198.51.100.7 1 2\r\n", "PROXY TCP4 example.org 198.51.100.7 1 2\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\n", "PROXY \r\n", "PROXY \n",
        "PROXY UNKNOWN \(String(repeating: "a", count: 107))\r\n",
    ])
    func `a line that violates version 1 is malformed`(line: String) {
        #expect(Self.parse(line) == .invalid(.malformed))
    }

    @Test func `version 2 names the client of a TCP connection over IPv4 and IPv6`() throws {
        #expect(
            Self.parse(Self.binary(0x21, 0x11, Self.ipv4))
                == .complete(.client(try Self.address("192.0.2.1")), length: 28))
        #expect(
            Self.parse(Self.binary(0x21, 0x21, Self.ipv6))
                == .complete(.client(try Self.address("2001:db8::1")), length: 52))
    }

    @Test func `version 2 skips TLVs and does not consume the client's bytes`() throws {
        let tlvs: [UInt8] = [0x04, 0x00, 0x03, 1, 2, 3, 0x20, 0x00, 0x01, 9]
        let header = Self.binary(0x21, 0x11, Self.ipv4 + tlvs)
        #expect(
            Self.parse(header + [0x16, 0x03, 0x01])
                == .complete(.client(try Self.address("192.0.2.1")), length: header.count))
    }

    @Test(arguments: [(0x20, 0x00), (0x20, 0x11), (0x20, 0xFF), (0x21, 0x00)] as [(UInt8, UInt8)])
    func `version 2 without a client leaves the connection's own address`(command: UInt8, family: UInt8) {
        #expect(Self.parse(Self.binary(command, family, [])) == .complete(.local, length: 16))
        #expect(Self.parse(Self.binary(command, family, Self.ipv4)) == .complete(.local, length: 28))
    }

    @Test func `a Unix socket has no address to limit`() {
        #expect(
            Self.parse(Self.binary(0x21, 0x31, Array(repeating: 0, count: 216))) == .complete(.local, length: 232))
        #expect(Self.parse(Self.binary(0x21, 0x31, [1])) == .invalid(.malformed))
    }

    @Test(arguments: [
        binary(0x11, 0x11, ipv4), binary(0x22, 0x11, ipv4), binary(0x21, 0x12, ipv4), binary(0x21, 0x41, ipv4),
        binary(0x21, 0x11, Array(ipv4.dropLast())), binary(0x21, 0x21, Array(ipv6.dropLast())), binary(0x21, 0x11, []),
    ])
    func `a header that violates version 2 is malformed`(header: [UInt8]) {
        #expect(Self.parse(header) == .invalid(.malformed))
    }

    @Test func `a header longer than the bound is refused before its bytes arrive`() {
        let length = ProxyHeader.mostBytes - 16
        let fits = Self.binary(0x21, 0x00, Array(repeating: 0, count: length))
        #expect(Self.parse(fits) == .complete(.local, length: ProxyHeader.mostBytes))
        let start = Self.signature + [0x21, 0x00, UInt8((length + 1) >> 8), UInt8((length + 1) & 0xFF)]
        #expect(Self.parse(start) == .invalid(.tooLong))
    }

    @Test(arguments: [
        [0x16, 0x03, 0x01, 0x02, 0x00], Array("GET / HTTP/1.1\r\n".utf8), Array("PROXZ".utf8),
        [0x0D, 0x0A, 0x0D, 0x0B], [0],
    ])
    func `a connection that starts with something else has no header`(bytes: [UInt8]) {
        #expect(Self.parse(bytes) == .invalid(.missing))
    }

    @Test func `a header that arrives in pieces is complete with its last byte`() throws {
        let line = Array("PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n".utf8)
        for header in [line, Self.binary(0x21, 0x11, Self.ipv4), Self.binary(0x21, 0x21, Self.ipv6 + [4, 0, 1, 7])] {
            for count in 0..<header.count {
                #expect(Self.parse(Array(header.prefix(count))) == .needsMoreBytes, "\(count) bytes")
            }
            guard case .complete(.client, header.count) = Self.parse(header) else {
                Issue.record("The whole header is not complete.")
                continue
            }
        }
    }
}
