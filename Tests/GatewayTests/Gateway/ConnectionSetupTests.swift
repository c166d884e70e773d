// The cost of setting up a connection: segments and system calls.

import Foundation
import TestSupport
import Testing

@testable import Gateway

@Suite struct ConnectionSetupTests {
    private static func run(
        _ change: @escaping @Sendable (inout GatewaySettings) -> Void = { _ in },
        _ talk: @escaping @Sendable (_ gateway: RunningGateway, _ token: String) throws -> Void
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, change) { gateway in
                let token = try await gateway.token("anna", .customer)
                try await blocking { try talk(gateway, token) }
            }
        }
    }

    @Test func `the answer to an upgrade request and the welcome arrive in one segment`() async throws {
        try await Self.run { gateway, token in
            let socket = try RawSocket(port: gateway.port)
            try socket.send(
                "GET /v1 HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                    + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                    + "Sec-WebSocket-Protocol: enroute.v1\r\nAuthorization: Bearer \(token)\r\n\r\n")
            let head = String(decoding: try socket.readUntil(Array("\r\n\r\n".utf8)), as: UTF8.self)
            #expect(
                head == "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
                    + "sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
                    + "sec-websocket-protocol: enroute.v1\r\n\r\n")
            _ = try socket.readUntil(Array(#""type":"welcome""#.utf8))
            #expect(socket.segmentsReceived == 1)
        }
    }

    @Test func `accepted sockets inherit the options of the listener`() async throws {
        try await Self.run({ $0.limits.socketSendBytes = 54_321 }) { gateway, _ in
            let socket = try RawSocket(port: gateway.port)
            try socket.send("GET /nothing HTTP/1.1\r\nHost: h\r\n\r\n")
            _ = try socket.readUntil(Array("\r\n\r\n".utf8))
            // The gateway runs in this process, so its end of the connection is one of our descriptors.
            let accepted = (3..<1024).filter { Self.isConnected(CInt($0), from: gateway.port) }.map { CInt($0) }
            #expect(!accepted.isEmpty)
            for descriptor in accepted {
                #expect(Self.option(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY) == 1)
                // The kernel doubles the value (socket(7)).
                #expect(Self.option(descriptor, SOL_SOCKET, SO_SNDBUF) == 2 * 54_321)
            }
        }
    }

    /// Whether the descriptor is a connected socket with this local port.
    private static func isConnected(_ descriptor: CInt, from port: Int) -> Bool {
        var (address, length) = (sockaddr_in(), socklen_t(MemoryLayout<sockaddr_in>.size))
        return withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                getpeername(descriptor, address, &length) == 0 && getsockname(descriptor, address, &length) == 0
                    && address.pointee.sa_family == sa_family_t(AF_INET)
            }
        } && Int(UInt16(bigEndian: address.sin_port)) == port
    }

    private static func option(_ descriptor: CInt, _ level: CInt, _ name: CInt) -> CInt {
        var (value, length) = (CInt(0), socklen_t(MemoryLayout<CInt>.size))
        return getsockopt(descriptor, level, name, &value, &length) == 0 ? value : -1
    }
}
