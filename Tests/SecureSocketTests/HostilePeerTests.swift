// Peers that violate the protocol, or exploit it.

import COpenSSL
import NIOCore
import Testing

@testable import SecureSocket

@Suite struct HostilePeerTests {
    /// Each with the alert that answers it; libssl does not reply to a peer that shows no sign of TLS.
    static let openings: [(name: String, bytes: [UInt8], isAnswered: Bool)] = [
        ("garbage", (0..<600).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ 91) }, false),
        ("HTTP", Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8), false),
        ("a record of application data", [23, 3, 3, 0, 4, 1, 2, 3, 4], true),
        ("a handshake record that holds no ClientHello", [22, 3, 1, 0, 8, 2, 0, 0, 4, 9, 9, 9, 9], true),
        ("a ClientHello of nonsense", [22, 3, 1, 0, 8, 1, 0, 0, 4, 9, 9, 9, 9], true),
        ("a record longer than any", [22, 3, 1, 0xFF, 0xFF] + [UInt8](repeating: 1, count: 64), true),
    ]

    @Test(arguments: Self.openings.indices)
    func `input that is not a ClientHello fails the handshake once and closes`(index: Int) async throws {
        let opening = Self.openings[index]
        let listener = try await Listener.start()
        let peer = try await Peer.connect(to: listener, nil)
        try await peer.sendRaw(opening.bytes)
        let connection = try await listener.connection()
        let seen = try await connection.seen.until("the end") { $0.isInactive }
        #expect(seen.errors.count == 1 && seen.bytes.isEmpty)
        guard case .handshakeFailed(let reason)? = seen.errors.first as? TLSError else {
            Issue.record("\(opening.name): \(seen.errors)")
            return
        }
        #expect(reason != "no reason given", "\(opening.name)")
        if opening.name == "HTTP" { #expect(reason == "http request") }
        if opening.isAnswered {
            try await peer.seen.until("an alert for \(opening.name)") { $0.bytes.count >= 7 && $0.bytes[0] == 21 }
        }
        try await listener.stop()
    }

    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func `a forged record after the handshake is answered with an alert`(version: CInt) async throws {
        let (listener, connection, peer) = try await self.connect(version)
        try await peer.run { $0.send("genuine") }
        try await connection.seen.until("genuine") { $0.text == "genuine" }
        try await peer.sendRaw([23, 3, 3, 0, 40] + [UInt8](repeating: 5, count: 40))
        let seen = try await connection.seen.until("the end") { $0.isInactive }
        guard case .protocolViolation? = seen.errors.first as? TLSError else {
            Issue.record("not a violation: \(seen.errors)")
            return
        }
        #expect(seen.errors.count == 1 && seen.text == "genuine")
        let theirs = try await peer.seen.until("the alert") { !$0.errors.isEmpty }
        #expect((theirs.errors.first as? PeerError)?.reason.contains("bad record mac") == true)
        try await connection.writeNow("nothing more")
        await #expect(throws: (any Error).self) { try await connection.write("nothing more") }
        try await listener.stop()
    }

    @Test func `I6: renegotiation is rejected`() async throws {
        let (listener, connection, peer) = try await self.connect(TLS1_2_VERSION)
        try await peer.run { $0.renegotiate() }
        let theirs = try await peer.seen.until("the refusal") { !$0.errors.isEmpty }
        #expect((theirs.errors.first as? PeerError)?.reason == "no renegotiation")
        // The client's own alert ends it; nothing was renegotiated in between.
        #expect(connection.seen.value.events.filter { $0 == "handshakeCompleted" }.count == 1)
        try await listener.stop()
    }

    @Test func `keys are updated in mid-stream`() async throws {
        let (listener, connection, peer) = try await self.connect(TLS1_3_VERSION)
        var sent = ""
        for round in 0..<20 {
            try await connection.run { $0.writeNow("[\(round)") }
            try await peer.run {
                $0.send("<\(round)")
                $0.updateKeys()
                $0.send(">")
            }
            // Written together with the answer: a pipeline write under the old keys must come first.
            connection.channel.write(ByteBuffer(string: "]"), promise: nil)
            sent += "<\(round)>"
            let expected = sent
            try await connection.seen.until("round \(round)") { $0.text == expected }
            connection.channel.flush()
        }
        let expected = (0..<20).map { "[\($0)]" }.joined()
        try await peer.seen.until("all rounds") { $0.text == expected }
        #expect(connection.seen.value.errors.isEmpty && peer.seen.value.errors.isEmpty)
        try await listener.stop()
    }

    @Test func `a peer that requests key updates without reading the answers is disconnected`() async throws {
        let (listener, connection, peer) = try await self.connect(TLS1_3_VERSION, sendBuffer: 4096, receiveBuffer: 4096)
        try await peer.channel.setOption(.autoRead, value: false).get()
        // Fill the kernel's buffers, so that answers must wait.
        try await connection.run { socket in
            let piece = String(repeating: "x", count: 8192)
            while !socket.isWaiting { socket.writeNow(piece) }
        }
        try await peer.run { client in
            for _ in 0..<8000 { client.updateKeys() }
        }
        let seen = try await connection.seen.until("the end") { $0.isInactive }
        guard case .protocolViolation? = seen.errors.first as? TLSError else {
            Issue.record("not a violation: \(seen.errors)")
            return
        }
        try await listener.stop()
    }

    private func connect(
        _ version: CInt, sendBuffer: Int? = nil, receiveBuffer: Int? = nil
    ) async throws -> (Listener, Connection, Peer) {
        let listener = try await Listener.start(sendBuffer: sendBuffer)
        let peer = try await Peer.connect(to: listener, .init(version: version), receiveBuffer: receiveBuffer)
        try await peer.handshake()
        let connection = try await listener.connection()
        try await connection.seen.until("handshake") { $0.events.contains("handshakeCompleted") }
        return (listener, connection, peer)
    }
}
