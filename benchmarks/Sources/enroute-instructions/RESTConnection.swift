// REST requests of one person on one kept-alive connection, one after the other.

import Foundation

/// A successful response.
struct RESTAnswer {
    let status: Int
    let body: Data

    func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
        do { return try JSONDecoder().decode(type, from: self.body) } catch {
            throw BenchFailure("an unexpected response: \(String(decoding: self.body, as: UTF8.self))")
        }
    }
}

final class RESTConnection {
    private let tls: TLSConnection
    private let token: String
    private var received: [UInt8] = []

    init(_ tls: TLSConnection, token: String) { (self.tls, self.token) = (tls, token) }

    /// - Parameter path: relative to `/api/v1/`.
    /// - Throws: unless the gateway answers with a status below 300.
    @discardableResult
    func perform(_ method: String, _ path: String, _ body: String = "") throws -> RESTAnswer {
        let lines = [
            "\(method) /api/v1/\(path) HTTP/1.1", "Host: localhost", "Authorization: Bearer \(self.token)",
            "Content-Type: application/json", "Content-Length: \(body.utf8.count)", "", body,
        ]
        try self.tls.write(Array(lines.joined(separator: "\r\n").utf8))
        let answer = try self.answer()
        guard answer.status < 300 else {
            let text = String(decoding: answer.body, as: UTF8.self)
            throw BenchFailure("\(method) \(path): \(answer.status) \(text)")
        }
        return answer
    }

    private func answer() throws -> RESTAnswer {
        let end = Array("\r\n\r\n".utf8)
        let head = try self.take { $0.firstRange(of: end)?.upperBound }
        let lines = String(decoding: head, as: UTF8.self).lowercased().split(separator: "\r\n")
        let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        guard !lines.contains("transfer-encoding: chunked") else {
            let last = Array("0\r\n\r\n".utf8)
            return RESTAnswer(status: status, body: Data(try self.take { $0.firstRange(of: last)?.upperBound }))
        }
        let field = lines.first { $0.hasPrefix("content-length:") }?.split(separator: ":").last
        let length = field.flatMap { Int($0.filter { $0 != " " }) } ?? 0
        return RESTAnswer(status: status, body: Data(try self.take { $0.count >= length ? length : nil }))
    }

    /// Reads until `end` finds where the part ends, and removes that part.
    private func take(_ end: ([UInt8]) -> Int?) throws -> [UInt8] {
        while true {
            if let end = end(self.received) {
                defer { self.received.removeFirst(end) }
                return Array(self.received[..<end])
            }
            self.received += try self.tls.read()
        }
    }
}
