// A blocking WebSocket to the gateway, for a client that does one thing after the other.

final class WebSocketConnection {
    private let tls: TLSConnection
    private var received: [UInt8] = []

    /// Upgrades the connection.
    init(_ tls: TLSConnection, token: String) throws {
        self.tls = tls
        let lines = [
            "GET /v1 HTTP/1.1", "Host: localhost", "Connection: Upgrade", "Upgrade: websocket",
            "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Protocol: enroute.v1", "Authorization: Bearer \(token)", "", "",
        ]
        try tls.write(Array(lines.joined(separator: "\r\n").utf8))
        let end = Array("\r\n\r\n".utf8)
        while self.received.firstRange(of: end) == nil { self.received += try tls.read() }
        guard let head = self.received.firstRange(of: end), self.received.starts(with: "HTTP/1.1 101".utf8) else {
            throw BenchFailure("The upgrade was refused: \(String(decoding: self.received, as: UTF8.self))")
        }
        self.received.removeFirst(head.upperBound)
    }

    /// Sends a text of at most 125 bytes.
    func send(_ text: String) throws { try self.write(0x81, Array(text.utf8)) }

    /// Reads messages until one contains this text.
    func receive(_ text: String) throws {
        while true {
            let payload = try self.frame()
            if payload.firstRange(of: Array(text.utf8)) != nil { return }
            guard payload.firstRange(of: Array(#""type":"error""#.utf8)) == nil else {
                throw BenchFailure(String(decoding: payload, as: UTF8.self))
            }
        }
    }

    /// Closes the WebSocket and the connection, and waits until the gateway has closed them too.
    func close() {
        // 1000: normal closure.
        try? self.write(0x88, [0x03, 0xE8])
        while (try? self.tls.read()) != nil {}
        self.tls.close()
    }

    private func write(_ kind: UInt8, _ payload: [UInt8]) throws {
        precondition(payload.count <= 125, "longer messages need a longer header")
        // Masked with zeros, which changes nothing.
        try self.tls.write([kind, 0x80 | UInt8(payload.count), 0, 0, 0, 0] + payload)
    }

    /// The payload of the next frame.
    private func frame() throws -> [UInt8] {
        while true {
            if self.received.count >= 4 {
                let short = Int(self.received[1] & 0x7F)
                let header = short < 126 ? 2 : short == 126 ? 4 : 10
                if self.received.count >= header {
                    let length =
                        short < 126 ? short : self.received[2..<header].reduce(0) { $0 << 8 | Int($1) }
                    if self.received.count >= header + length {
                        defer { self.received.removeFirst(header + length) }
                        return Array(self.received[header..<header + length])
                    }
                }
            }
            self.received += try self.tls.read()
        }
    }
}
