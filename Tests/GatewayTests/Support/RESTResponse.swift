// Sends REST requests and parses the responses itself, because URLSession would change or hide some headers.

import Access
import Foundation
import TestSupport

struct RESTResponse: Sendable {
    let status: Int
    /// The headers by lower-case name.
    let headers: [String: String]
    let text: String

    /// - Parameter bytes: one complete response whose body is not chunked.
    init(_ bytes: [UInt8]) {
        let answer = String(decoding: bytes, as: UTF8.self)
        let parts = answer.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
        let lines = parts[0].components(separatedBy: "\r\n")
        self.status = Int(lines[0].dropFirst(9).prefix(3)) ?? 0
        self.headers = lines.dropFirst().reduce(into: [:]) { headers, line in
            guard let colon = line.firstIndex(of: ":") else { return }
            headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(
                in: .whitespaces)
        }
        self.text = parts.count > 1 ? String(parts[1]) : ""
    }

    /// Returns a member of the body, which must be a JSON object.
    func member<Value>(_ name: String, as type: Value.Type = Value.self) -> Value? {
        let object = try? JSONSerialization.jsonObject(with: Data(self.text.utf8)) as? [String: Any]
        return object?[name] as? Value
    }

    /// Returns the bytes of a request with `Connection: close`.
    static func request(
        _ method: String, _ path: String, as token: String?, _ body: String? = nil, headers: [String] = []
    ) -> String {
        var lines = ["\(method) \(path) HTTP/1.1", "Host: localhost", "Connection: close"] + headers
        if let token { lines.append("Authorization: Bearer \(token)") }
        if let body { lines.append("Content-Length: \(body.utf8.count)") }
        return lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")
    }
}

extension RunningGateway {
    /// - Parameter headers: complete header lines.
    func rest(
        _ method: String, _ path: String, as token: String?, _ body: String? = nil, headers: [String] = []
    ) async throws -> RESTResponse {
        let port = self.port
        return try await blocking {
            let socket = try RawSocket(port: port)
            try socket.send(RESTResponse.request(method, path, as: token, body, headers: headers))
            return RESTResponse(try socket.readToEnd())
        }
    }

    func rest(
        _ method: String, _ path: String, by person: String, _ role: Role, _ body: String? = nil,
        headers: [String] = []
    ) async throws -> RESTResponse {
        try await self.rest(method, path, as: try await self.token(person, role), body, headers: headers)
    }
}

extension String {
    /// The text without the trace ID, which differs for each request.
    var withoutTrace: String { self.replacing(/[0-9a-f]{32}/, with: "") }
}
