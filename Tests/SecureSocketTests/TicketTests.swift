// Sessions that are resumed on another gateway.

import COpenSSL
import Foundation
import Testing

@testable import SecureSocket

@Suite struct TicketTests {
    private let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    /// A file with a key of random bytes.
    private func makeKey(_ name: String, bytes: Int = TicketKeys.keyBytes) throws -> String {
        let path = "\(self.folder.path)/\(name)"
        try Data((0..<bytes).map { _ in UInt8.random(in: 0...255) }).write(to: URL(filePath: path))
        return path
    }

    private static func context(_ ticketKeys: [String]) throws -> TLSContext {
        let files = try Loops.files.get()
        return try TLSCredentials(
            certificateChain: files.certificatePath, privateKey: files.keyPath, ticketKeys: ticketKeys
        ).current
    }

    /// Connects to a separate gateway with these keys; returns whether a session was resumed, and the new one.
    private static func visit(
        _ ticketKeys: [String], _ version: CInt, _ session: ClientSession? = nil
    ) async throws -> (isResumed: Bool, session: ClientSession) {
        let context = try self.context(ticketKeys)
        let listener = try await Listener.start(tls: { context })
        let peer = try await Peer.connect(to: listener, .init(version: version, session: session))
        try await peer.handshake()
        let connection = try await listener.connection()
        // The ticket of TLS 1.3 arrives after the handshake, before the first bytes.
        try await connection.writeNow("welcome")
        try await peer.seen.until("bytes") { $0.text == "welcome" }
        let isResumed = try await peer.run { $0.isResumed }
        let next = try #require(try await peer.run { $0.session })
        // libssl's client forgets the session of a connection that ended without close_notify.
        try await peer.run { $0.sayGoodbye() }
        try await peer.channel.close().get()
        try await listener.stop()
        return (isResumed, next)
    }

    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func `a client that loses one gateway resumes its session on another with the same key`(version: CInt) async throws
    {
        let keys = [try self.makeKey("a")]
        let first = try await Self.visit(keys, version)
        #expect(!first.isResumed)
        let second = try await Self.visit(keys, version, first.session)
        #expect(second.isResumed)
    }

    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func `a client that reconnects again and again resumes every time`(version: CInt) async throws {
        let keys = [try self.makeKey("a")]
        var session = try await Self.visit(keys, version).session
        for number in 1...4 {
            let visit = try await Self.visit(keys, version, session)
            #expect(visit.isResumed, "reconnect \(number)")
            session = visit.session
        }
    }

    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func `a ticket of an older key is valid until that key is removed`(version: CInt) async throws {
        let (old, new) = (try self.makeKey("old"), try self.makeKey("new"))
        let first = try await Self.visit([old], version)
        let rotated = try await Self.visit([new, old], version, first.session)
        #expect(rotated.isResumed)
        // On the way, the ticket was renewed under the newest key.
        let after = try await Self.visit([new], version, rotated.session)
        #expect(after.isResumed)
        let gone = try await Self.visit([new], version, first.session)
        #expect(!gone.isResumed)
    }

    @Test func `gateways without shared keys reject each other's tickets and still serve the client`()
        async throws
    {
        let first = try await Self.visit([], TLS1_3_VERSION)
        #expect(try await Self.visit([], TLS1_3_VERSION, first.session).isResumed == false)
    }

    @Test func `a file without a key is rejected with its name and a way to create one`() throws {
        let short = try self.makeKey("short", bytes: 79)
        let long = try self.makeKey("long", bytes: 81)
        for file in [short, long, "/nowhere.key"] {
            #expect {
                try Self.context([file])
            } throws: { "\($0)".contains(file) }
        }
        #expect {
            try Self.context([short])
        } throws: { "\($0)".contains("openssl rand 80") }
        let key = try self.makeKey("good")
        #expect(throws: TLSConfigurationError.self) { try Self.context(Array(repeating: key, count: 9)) }
    }

    @Test func `ticket keys are reloaded with the certificate`() async throws {
        let files = try Loops.files.get()
        let key = try self.makeKey("key")
        let credentials = try TLSCredentials(
            certificateChain: files.certificatePath, privateKey: files.keyPath, ticketKeys: [key])
        try Data("broken".utf8).write(to: URL(filePath: key))
        let before = credentials.current
        #expect(throws: TLSConfigurationError.self) { try credentials.reload() }
        #expect(credentials.current === before)
        _ = try self.makeKey("key")
        try credentials.reload()
        #expect(credentials.current !== before)
    }
}
