// Key updates of a peer (RFC 8446, 4.6.3), with our own records and with libssl's.

import COpenSSL
import NIOCore
import Testing

@testable import SecureSocket

@Suite struct KeyUpdateTests {
    /// A KeyUpdate is 5 bytes; a record adds 17 after its header.
    private static let keyUpdateRecord = 5 + 17

    private static func connection(makesRecords: Bool = true) throws -> InMemoryConnection {
        let files = try CertificateFiles()
        let connection = InMemoryConnection(
            try TLSContext(
                certificateChain: files.certificatePath, privateKey: files.keyPath, makesRecords: makesRecords))
        connection.shakeHands()
        connection.records = []
        return connection
    }

    private static func update(_ connection: InMemoryConnection, _ type: CInt) {
        SSL_key_update(connection.client, type)
        SSL_do_handshake(connection.client)
        connection.toServer()
    }

    @Test func `B47: a peer that requests a key update gets it immediately and reads on`() throws {
        let connection = try Self.connection()
        for turn in 0..<5 {
            Self.update(connection, SSL_KEY_UPDATE_REQUESTED)
            #expect(connection.records == [Self.keyUpdateRecord], "turn \(turn)")
            connection.say([UInt8(turn)])
            #expect(connection.read() == [UInt8(turn)])
            connection.records = []
        }
        connection.send("and back")
        connection.toServer()
        #expect(connection.received == "and back" && connection.reading == .open)
    }

    @Test func `B47: a peer that updates only its own keys gets no answer`() throws {
        let connection = try Self.connection()
        Self.update(connection, SSL_KEY_UPDATE_NOT_REQUESTED)
        #expect(connection.records.isEmpty)
        connection.say([1])
        #expect(connection.read() == [1])
    }

    @Test(arguments: [true, false])
    func `B47: a storm of key updates closes the connection at the limit`(makesRecords: Bool) throws {
        let connection = try Self.connection(makesRecords: makesRecords)
        for _ in 0..<KeyUpdateBudget.most {
            Self.update(connection, SSL_KEY_UPDATE_NOT_REQUESTED)
            #expect(connection.reading == .open)
        }
        Self.update(connection, SSL_KEY_UPDATE_NOT_REQUESTED)
        guard case .failed(let reason) = connection.reading else {
            Issue.record("\(connection.reading)")
            return
        }
        #expect(reason.contains("updates its keys"))
        #expect([UInt8]([1]).withUnsafeBytes { connection.server.write($0) } != .encrypted)
        guard makesRecords else { return }
        #expect(connection.read() == nil)
        #expect(takeErrorReason().contains("unexpected message"))
    }

    @Test func `B47: a peer on a real socket that keeps updating its keys is disconnected`() async throws {
        let listener = try await Listener.start()
        let peer = try await Peer.connect(to: listener)
        try await peer.handshake()
        let connection = try await listener.connection()
        try await connection.seen.until("handshake") { $0.events.contains("handshakeCompleted") }
        for _ in 0...KeyUpdateBudget.most { try await peer.run { $0.updateKeys() } }
        let seen = try await connection.seen.until("the end") { $0.isInactive }
        guard case .protocolViolation? = seen.errors.first as? TLSError else {
            Issue.record("not a violation: \(seen.errors)")
            return
        }
        try await listener.stop()
    }

    @Test func `the limit applies to one minute`() {
        var budget = KeyUpdateBudget()
        let start = NIODeadline.uptimeNanoseconds(1)
        var isTaken: [Bool] = []
        for (updates, seconds) in [(KeyUpdateBudget.most, 0), (1, 59), (KeyUpdateBudget.most, 60), (0, 61), (1, 119)] {
            isTaken.append(budget.record(updates, at: { start + .seconds(Int64(seconds)) }))
        }
        #expect(isTaken == [true, false, true, true, false])
    }
}
