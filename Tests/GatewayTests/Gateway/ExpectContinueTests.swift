import Foundation
import TestSupport
import Testing

@testable import Gateway

/// Clients that wait for 100 (Continue) before they send a body (RFC 9110 section 10.1.1), over real sockets.
@Suite struct ExpectContinueTests {
    private static func run(_ talk: @escaping @Sendable (_ gateway: RunningGateway) throws -> Void) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await blocking { try talk(gateway) }
            }
        }
    }

    private static func head(_ method: String, _ headers: String) -> String {
        "\(method) /nothing HTTP/1.1\r\nHost: h\r\n\(headers)\r\n\r\n"
    }

    /// Returns the status line and headers of the next response, after reading a body of the announced length.
    private static func head(of socket: RawSocket) throws -> String {
        let head = String(decoding: try socket.readUntil(Array("\r\n\r\n".utf8)), as: UTF8.self)
        var left = head.lowercased().firstMatch(of: /content-length: ([0-9]+)/).flatMap { Int($0.1) } ?? 0
        while left > 0 {
            let bytes = try socket.read(atMost: left)
            if bytes.isEmpty { throw Missing() }
            left -= bytes.count
        }
        return head
    }

    @Test func `a client that expects 100-continue receives it, and sends its body then`() async throws {
        try await Self.run { gateway in
            let socket = try RawSocket(port: gateway.port)
            for framing in ["Content-Length: 3", "Transfer-Encoding: chunked"] {
                try socket.send(Self.head("POST", "Expect: 100-Continue\r\n\(framing)"))
                #expect(try Self.head(of: socket) == "HTTP/1.1 100 Continue\r\n\r\n", "\(framing)")
                try socket.send(framing.hasPrefix("C") ? "abc" : "3\r\nabc\r\n0\r\n\r\n")
                #expect(try Self.head(of: socket).hasPrefix("HTTP/1.1 404 "), "\(framing)")
            }
            // These requests have no body to wait for.
            try socket.send(Self.head("GET", "Expect: 100-continue"))
            #expect(try Self.head(of: socket).hasPrefix("HTTP/1.1 404 "))
        }
    }

    @Test(arguments: [
        ("HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 65537", 404),
        ("HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: x", 400),
        ("HTTP/1.1\r\nHost: h\r\nExpect: 200-ok\r\nContent-Length: 3", 417),
        ("HTTP/1.1\r\nHost: h\r\nExpect: 100-continue, more\r\nContent-Length: 3", 417),
        ("HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3", 404),
    ])
    func `a client gets no 100 for a head that is refused, nor with HTTP/1.0`(head: String, status: Int) async throws {
        try await Self.run { gateway in
            let socket = try RawSocket(port: gateway.port)
            try socket.send("POST /nothing \(head)\r\n\r\n" + (head.hasPrefix("HTTP/1.0") ? "abc" : ""))
            let answer = String(decoding: try socket.readToEnd(), as: UTF8.self)
            #expect(answer.prefix(13).hasSuffix(" \(status) "), "\(answer)")
        }
    }
}
