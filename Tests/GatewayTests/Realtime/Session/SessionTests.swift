import EnrouteWire
import Foundation
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// The WebSocket protocol of RFC 6455, as seen by a client that violates it.
@Suite struct SessionTests {
    private static let ping = Array(#"{"type":"ping"}"#.utf8)

    /// The gateway's answer to these bytes until it closes.
    private static func answer(to bytes: [[UInt8]]) async throws -> [UInt8] {
        try await within {
            let (answers, answered) = AsyncStream.makeStream(of: [UInt8].self)
            try await RunningGateway.run(isSecure: false) { gateway in
                let token = try await gateway.token("anna", .customer)
                let answer = try await blocking {
                    let socket = try RawSocket.session(port: gateway.port, token: token)
                    for piece in bytes { try socket.send(piece) }
                    return try socket.readToEnd()
                }
                answered.yield(answer)
            }
            guard let answer = await answers.first(where: { _ in true }) else { throw Missing() }
            return answer
        }
    }

    /// The code of the close frame at the start of the answer.
    private static func closeCode(after bytes: [UInt8]...) async throws -> UInt16? {
        let answer = try await self.answer(to: bytes)
        guard answer.count >= 4, answer[0] == 0x88 else { return nil }
        return UInt16(answer[2]) << 8 | UInt16(answer[3])
    }

    @Test func `an unmasked frame closes 1002`() async throws {
        #expect(try await Self.closeCode(after: RawSocket.frame(0x81, Self.ping, masked: false)) == 1002)
    }

    @Test func `a reserved bit closes 1002`() async throws {
        #expect(try await Self.closeCode(after: RawSocket.frame(0xC1, Self.ping)) == 1002)
    }

    @Test func `an unknown opcode closes 1002`() async throws {
        #expect(try await Self.closeCode(after: RawSocket.frame(0x83, Self.ping)) == 1002)
    }

    @Test func `a binary message closes 1003`() async throws {
        #expect(try await Self.closeCode(after: RawSocket.frame(0x82, Self.ping)) == 1003)
    }

    @Test func `text that is not UTF-8 closes 1007`() async throws {
        #expect(try await Self.closeCode(after: RawSocket.frame(0x81, [0x22, 0xC3, 0x28, 0x22])) == 1007)
    }

    @Test func `D1: a message over the limit closes 1009 after its header, before its payload arrives`() async throws {
        let announced: [UInt8] = [0x81, 0x80 | 127, 0, 0, 0, 0, 0x7F, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0]
        #expect(try await Self.closeCode(after: announced) == 1009)
    }

    @Test func `D1: fragments that are too many or too long in total close 1009`() async throws {
        let large = RawSocket.frame(0x00, [UInt8](repeating: 0x20, count: 2100))
        #expect(try await Self.closeCode(after: RawSocket.frame(0x01, [0x20]), large, large) == 1009)
        let small = [[UInt8]](repeating: RawSocket.frame(0x00, [0x20]), count: 16).flatMap { $0 }
        #expect(try await Self.closeCode(after: RawSocket.frame(0x01, [0x20]), small) == 1009)
    }

    @Test func `fragments out of order close 1002`() async throws {
        #expect(try await Self.closeCode(after: RawSocket.frame(0x80, Self.ping)) == 1002)
        let begun = RawSocket.frame(0x01, [0x20])
        #expect(try await Self.closeCode(after: begun, begun) == 1002)
    }

    @Test func `a control frame that is fragmented or too long closes 1002`() async throws {
        #expect(try await Self.closeCode(after: RawSocket.frame(0x09, [])) == 1002)
        #expect(try await Self.closeCode(after: RawSocket.frame(0x89, [UInt8](repeating: 0, count: 126))) == 1002)
    }

    @Test func `a close frame is answered with its code, or 1002 if the code is invalid`() async throws {
        #expect(try await Self.closeCode(after: RawSocket.frame(0x88, [0x03, 0xE8])) == 1000)
        #expect(try await Self.closeCode(after: RawSocket.frame(0x88, [0x0F, 0xA7])) == 4007)
        #expect(try await Self.closeCode(after: RawSocket.frame(0x88, [0x03, 0xED])) == 1002)
        #expect(try await Self.closeCode(after: RawSocket.frame(0x88, [0x03])) == 1002)
    }

    @Test func `a ping between fragments is answered with its payload, and the message is still valid`() async throws {
        let answer = try await Self.answer(to: [
            RawSocket.frame(0x01, Array(Self.ping.prefix(5))), RawSocket.frame(0x89, [1, 2, 3]),
            RawSocket.frame(0x80, Array(Self.ping.dropFirst(5))), RawSocket.frame(0x88, []),
        ])
        #expect(answer.starts(with: [0x8A, 3, 1, 2, 3, 0x81]))
        #expect(String(decoding: answer, as: UTF8.self).contains(#""type":"pong""#))
    }

    @Test func `ten malformed messages are answered, and the next one closes 4505`() async throws {
        let nonsense = (0..<11).map { _ in RawSocket.frame(0x81, Array(#"{"type":"dance"}"#.utf8)) }.flatMap { $0 }
        let answer = try await Self.answer(to: [nonsense])
        let text = String(decoding: answer, as: UTF8.self)
        #expect(text.components(separatedBy: "bad_request").count == 11)
        #expect(answer.suffix(40).contains(sequence: [0x11, 0x99]))
    }
}

extension Collection where Element == UInt8 {
    fileprivate func contains(sequence: [UInt8]) -> Bool {
        self.indices.contains { self[$0...].starts(with: sequence) }
    }
}
