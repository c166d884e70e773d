// A client for server-sent events that parses chunks, lines and events itself (html.spec.whatwg.org, 9.2.6).

import Access
import EnrouteWire
import Foundation
import TestSupport

/// One event stream. Must be used by one task at a time.
final class EventStreamReader: @unchecked Sendable {
    struct Event: Hashable, Sendable {
        /// The ID of the event; `nil` if it has none.
        var id: String?
        var name = "message"
        var data = ""
        /// The retry time in milliseconds.
        var retry: Int?

        var message: ServerMessage? { Array(self.data.utf8).withUnsafeBytes { try? ServerMessage($0) } }
    }

    private let socket: RawSocket
    private(set) var status = 0
    private(set) var headers: [String: String] = [:]
    /// The body of a response that is not a stream.
    private(set) var body = ""
    private var bytes: [UInt8] = []
    private var isOver = false
    /// The ID of the last event that had one.
    private(set) var lastEventID: String?

    private init(_ socket: RawSocket) { self.socket = socket }

    /// - Parameters:
    ///   - authorization: the value of the header.
    ///   - before: a request to send on the same connection first.
    static func open(
        _ gateway: RunningGateway, _ job: JobID, authorization: String?, lastEventID: String? = nil,
        after before: String? = nil
    ) async throws -> EventStreamReader {
        let port = gateway.port
        return try await blocking {
            let reader = EventStreamReader(try RawSocket(port: port))
            var lines = ["GET /api/v1/jobs/\(job)/events HTTP/1.1", "Host: localhost", "Accept: text/event-stream"]
            if let authorization { lines.append("Authorization: \(authorization)") }
            if let lastEventID { lines.append("Last-Event-ID: \(lastEventID)") }
            if let before {
                try reader.socket.send("GET \(before) HTTP/1.1\r\nHost: localhost\r\n\r\n")
                let head = String(decoding: try reader.socket.readUntil(Array("\r\n\r\n".utf8)), as: UTF8.self)
                let length = head.lowercased().firstMatch(of: /content-length: ([0-9]+)/).flatMap { Int($0.1) } ?? 0
                var left = length
                while left > 0 { left -= try reader.socket.read(atMost: left).count }
            }
            try reader.socket.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
            let head = try reader.socket.readUntil(Array("\r\n\r\n".utf8))
            let answer = RESTResponse(head)
            (reader.status, reader.headers) = (answer.status, answer.headers)
            if reader.headers["transfer-encoding"] == nil, let length = Int(reader.headers["content-length"] ?? "0") {
                while reader.body.utf8.count < length {
                    reader.body += String(decoding: try reader.socket.read(atMost: length), as: UTF8.self)
                }
            }
            return reader
        }
    }

    static func open(
        _ gateway: RunningGateway, _ job: JobID, by person: String, _ role: Role, lastEventID: String? = nil,
        after before: String? = nil
    ) async throws -> EventStreamReader {
        try await self.open(
            gateway, job, authorization: "Bearer \(try await gateway.token(person, role))", lastEventID: lastEventID,
            after: before)
    }

    /// Returns the next event, skipping comments, or `nil` at the regular end of the stream.
    func next() async throws -> Event? {
        try await blocking { try self.read() }
    }

    /// Returns the next message for which `choose` returns a value.
    func first<Result: Sendable>(_ choose: @escaping @Sendable (ServerMessage) -> Result?) async throws -> Result {
        while let event = try await self.next() {
            if let result = event.message.flatMap(choose) { return result }
        }
        throw Missing()
    }

    /// The maximum number of comments in a row; the gateway sends one each 25 s.
    private static let mostComments = 6

    private func read() throws -> Event? {
        var comments = 0
        while true {
            var event = Event()
            var isNothing = true
            while true {
                guard let line = try self.line() else { return nil }
                if line.isEmpty { break }
                guard !line.hasPrefix(":") else {
                    comments += 1
                    // Otherwise a test whose event never comes would wait as long as the gateway keeps the stream alive.
                    guard comments < Self.mostComments else { throw Missing() }
                    continue
                }
                let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
                let value = parts.count > 1 ? String(parts[1].trimmingPrefix(" ")) : ""
                isNothing = false
                switch parts[0] {
                case "id": (event.id, self.lastEventID) = (value, value)
                case "event": event.name = value
                case "data": event.data += value
                case "retry": event.retry = Int(value)
                default: break
                }
            }
            if !isNothing { return event }
        }
    }

    private func line() throws -> String? {
        while true {
            if let end = self.bytes.firstIndex(of: UInt8(ascii: "\n")) {
                defer { self.bytes.removeFirst(end + 1) }
                return String(decoding: self.bytes[..<end], as: UTF8.self)
            }
            guard !self.isOver else { return nil }
            let head = try self.socket.readUntil(Array("\r\n".utf8))
            guard let size = Int(String(decoding: head.dropLast(2), as: UTF8.self), radix: 16) else { throw Missing() }
            var left = size
            while left > 0 {
                let more = try self.socket.read(atMost: left)
                guard !more.isEmpty else { throw Missing() }
                self.bytes += more
                left -= more.count
            }
            _ = try self.socket.readUntil(Array("\r\n".utf8))
            self.isOver = size == 0
        }
    }

    /// Closes the client's side of the connection, as a browser does when a page is closed.
    func finish() { self.socket.finish() }
}
