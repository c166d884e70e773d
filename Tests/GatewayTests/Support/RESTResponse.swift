// A request of REST and its answer, byte for byte: headers that URLSession would change, or keep for itself, go through
// as they are.

import Access
import Foundation
import TestSupport

struct RESTResponse: Sendable {
    let status: Int
    /// By their names in small letters.
    let headers: [String: String]
    let text: String

    /// - Parameter bytes: of a whole answer whose body is neither chunked nor followed by another.
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

    /// A member of the body, which is a JSON object.
    func member<Value>(_ name: String, as type: Value.Type = Value.self) -> Value? {
        let object = try? JSONSerialization.jsonObject(with: Data(self.text.utf8)) as? [String: Any]
        return object?[name] as? Value
    }

    /// The bytes of a request, after whose answer the connection ends.
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
    /// - Parameter headers: whole lines.
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
    /// All but the id of the trace, which is another for each request.
    var withoutTrace: String { self.replacing(/[0-9a-f]{32}/, with: "") }
}
