// TLS 1.3 records that are written without libssl, read by a libssl client in the same thread: no socket, every byte visible.

import COpenSSL
import NIOCore
import Testing

@testable import SecureSocket

/// A server's connection and a libssl client, joined by memory.
final class InMemoryConnection {
    let loop = TLSLoop()
    let server: TLSConnection
    private(set) var client: OpaquePointer
    private let settings: OpaquePointer
    private let input = BIO_new(BIO_s_mem())
    private let output = BIO_new(BIO_s_mem())
    /// What the server has read, and the result of its last read.
    var received = ""
    var reading = TLSConnection.Reading.open
    /// The length of each record that the server sent.
    var records: [Int] = []

    init(_ context: TLSContext, suite: String = "TLS_AES_128_GCM_SHA256", _ prepare: (OpaquePointer) -> Void = { _ in })
    {
        self.server = TLSConnection(context: context, loop: self.loop)
        self.settings = SSL_CTX_new(TLS_client_method())
        SSL_CTX_set_ciphersuites(self.settings, suite)
        self.client = SSL_new(self.settings)
        SSL_set_bio(self.client, self.input, self.output)
        SSL_set_connect_state(self.client)
        prepare(self.client)
    }

    deinit {
        SSL_free(self.client)
        SSL_CTX_free(self.settings)
    }

    /// Passes the client's output to the server, and the server's to the client.
    @discardableResult
    func toServer() -> Int {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = BIO_read(self.output, &bytes, CInt(bytes.count))
        guard count > 0 else { return 0 }
        var plaintext = ByteBuffer()
        self.reading = self.server.read(ByteBuffer(bytes: bytes[..<Int(count)]), into: &plaintext)
        self.received += String(buffer: plaintext)
        self.toClient()
        return Int(count)
    }

    func toClient() {
        let output = self.loop.output
        var place = 0
        while place + 5 <= output.count {
            self.records.append(Int(output[place + 3]) << 8 + Int(output[place + 4]))
            place += 5 + self.records.last!
        }
        if !output.isEmpty { BIO_write(self.input, output.baseAddress, CInt(output.count)) }
    }

    func shakeHands() {
        repeat { SSL_do_handshake(self.client) } while self.toServer() > 0
    }

    func say(_ bytes: [UInt8]) {
        #expect(bytes.withUnsafeBytes { self.server.write($0) } == .encrypted)
        self.toClient()
    }

    /// Everything available to the client, or `nil` with libssl's reason.
    func read() -> [UInt8]? {
        var all: [UInt8] = []
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = SSL_read(self.client, &bytes, CInt(bytes.count))
            guard count > 0 else { return SSL_get_error(self.client, count) == SSL_ERROR_WANT_READ ? all : nil }
            all += bytes[..<Int(count)]
        }
    }

    func send(_ text: String) {
        SSL_write(self.client, text, CInt(text.utf8.count))
    }
}

@Suite struct RecordTests {
    private static func context(maxRecords: UInt64 = 1 << 23, makesRecords: Bool = true) throws -> TLSContext {
        let files = try CertificateFiles()
        return try TLSContext(
            certificateChain: files.certificatePath, privateKey: files.keyPath, makesRecords: makesRecords,
            maxRecords: maxRecords)
    }

    @Test(arguments: ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"])
    func `a client reads our records, with every cipher suite and size`(suite: String) throws {
        let connection = InMemoryConnection(try Self.context(), suite: suite)
        connection.shakeHands()
        for count in [1, 2, 15, 16, 17, 200, 4096, 16_383, 16_384, 16_385, 50_000] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ count) }
            connection.say(bytes)
            #expect(connection.read() == bytes, "\(count) bytes")
        }
        connection.send("and back")
        connection.toServer()
        #expect(connection.received == "and back")
    }

    @Test func `our records have the same length as libssl's`() throws {
        let talks = try [true, false].map { InMemoryConnection(try Self.context(makesRecords: $0)) }
        for connection in talks {
            connection.shakeHands()
            connection.records = []
            for count in [1, 200, 16_384, 16_385] { connection.say([UInt8](repeating: 7, count: count)) }
        }
        #expect(talks[0].records == talks[1].records)
        #expect(talks[0].records == [18, 217, 16_401, 16_401, 18])
    }

    @Test(arguments: ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"])
    func `keys are updated before they are used too often`(suite: String) throws {
        let connection = InMemoryConnection(try Self.context(maxRecords: 5), suite: suite)
        connection.shakeHands()
        connection.records = []
        for turn in 0..<23 {
            connection.say([UInt8(turn)])
            #expect(connection.read() == [UInt8(turn)])
        }
        // A KeyUpdate is 5 bytes, our message is 1.
        #expect(connection.records.filter { $0 == 5 + 17 }.count == 4)
    }

    @Test func `key updates that the client requests, later or within its handshake, are performed`() throws {
        let connection = InMemoryConnection(try Self.context())
        connection.shakeHands()
        for turn in 0..<10 {
            SSL_key_update(connection.client, SSL_KEY_UPDATE_REQUESTED)
            connection.send("\(turn)")
            connection.say([UInt8(turn)])
            connection.toServer()
            connection.say([UInt8(turn)])
            #expect(connection.read() == [UInt8(turn), UInt8(turn)])
        }
        #expect(connection.received == "0123456789")

        let hasty = InMemoryConnection(try Self.context())
        SSL_do_handshake(hasty.client)
        hasty.toServer()
        SSL_do_handshake(hasty.client)
        SSL_key_update(hasty.client, SSL_KEY_UPDATE_REQUESTED)
        hasty.send("hasty")
        hasty.toServer()
        hasty.say([1, 2, 3])
        #expect(hasty.read() == [1, 2, 3] && hasty.received == "hasty")
    }

    @Test func `close_notify is sent once, and the client accepts it`() throws {
        let connection = InMemoryConnection(try Self.context())
        connection.shakeHands()
        connection.say([1])
        connection.server.shutdown()
        connection.toClient()
        var bytes = [UInt8](repeating: 0, count: 16)
        #expect(SSL_read(connection.client, &bytes, 16) == 1)
        #expect(SSL_get_error(connection.client, SSL_read(connection.client, &bytes, 16)) == SSL_ERROR_ZERO_RETURN)
        connection.server.shutdown()
        #expect(connection.loop.output.isEmpty)
    }

    @Test func `a forged record ends the connection with an alert that the client can read`() throws {
        let connection = InMemoryConnection(try Self.context())
        connection.shakeHands()
        connection.say([1])
        #expect(connection.read() == [1])
        var plaintext = ByteBuffer()
        let forged: [UInt8] = [23, 3, 3, 0, 20] + [UInt8](repeating: 9, count: 20)
        guard case .failed = connection.server.read(ByteBuffer(bytes: forged), into: &plaintext) else {
            Issue.record("it was read")
            return
        }
        connection.toClient()
        #expect(connection.read() == nil)
        #expect(takeErrorReason().contains("bad record mac"))
        #expect([UInt8]([1]).withUnsafeBytes { connection.server.write($0) } != .encrypted)
    }

    @Test func `a client that requests small records gets small records`() throws {
        let connection = InMemoryConnection(try Self.context()) { client in
            SSL_set_tlsext_max_fragment_length(client, UInt8(TLSEXT_max_fragment_length_512))
        }
        connection.shakeHands()
        connection.records = []
        let bytes = [UInt8](repeating: 3, count: 2000)
        connection.say(bytes)
        #expect(connection.read() == bytes)
        #expect(connection.records.allSatisfy { $0 <= 512 + 17 })
    }

    @Test func `connections of one loop have separate keys`() throws {
        let context = try Self.context()
        let talks = (0..<20).map { _ in InMemoryConnection(context) }
        talks.forEach { $0.shakeHands() }
        for turn in 0..<50 {
            for (index, connection) in talks.enumerated() {
                connection.say([UInt8(turn), UInt8(index)])
                #expect(connection.read() == [UInt8(turn), UInt8(index)])
            }
        }
    }
}
