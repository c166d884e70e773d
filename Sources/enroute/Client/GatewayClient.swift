// Requests of commands to a gateway. An error shows the gateway's problem document as a sentence.

import EnrouteClient
import Foundation
import OutboundHTTP

/// A gateway, and the token with which a command uses it.
struct GatewayClient: Sendable {
    /// Without a trailing slash.
    let url: String
    let token: String
    /// How to verify the certificate of a WebSocket.
    let trust: ServerTrust
    private let http: OutboundHTTP

    private static let longestWait = Duration.seconds(30)
    /// Enough for the largest responses: lists of riders and jobs.
    private static let longestAnswerBytes = 8 << 20

    /// - Throws: `ConfigurationError`.
    init(url: String, token: String, authorities: String?) throws {
        let url = ClientOptions.withoutSlash(url)
        let parts = url.split(separator: "://", maxSplits: 1)
        guard parts.count == 2, ["http", "https"].contains(parts[0]),
            (try? GatewayAddress(Self.socket(of: url))) != nil
        else {
            throw ConfigurationError(
                description:
                    "The gateway's URL must be https://host[:port], with a port from 1 to 65535. A path prefix may follow, "
                    + "but not /v1.")
        }
        guard parts[0] == "https" || LoopbackHost.isHost(of: parts[1].prefix { $0 != "/" }) else {
            throw ConfigurationError(
                description:
                    "The gateway's URL must start with https://: over http:// anyone on the network could read the "
                    + "token. Only a gateway on this machine may use http://.")
        }
        guard token.utf8.allSatisfy({ (33...126).contains($0) }) else {
            throw ConfigurationError(
                description:
                    "The token contains a character that no JSON Web Token contains. Set it to the token alone.")
        }
        (self.url, self.token) = (url, token)
        self.trust = authorities.map { .authorities(file: $0) } ?? .system
        do throws(NoCertificates) {
            self.http = try OutboundHTTP(
                authorities: authorities, longestWait: Self.longestWait, longestAnswer: Self.longestAnswerBytes)
        } catch {
            throw ConfigurationError(
                description: "\(error.path) contains no PEM certificate. Check --ca or ENROUTE_CLIENT_CA_FILE.")
        }
    }

    /// The URL for `GatewayConnection`.
    var socket: String { Self.socket(of: self.url) }

    /// - Parameter url: http:// or https://
    private static func socket(of url: String) -> String { "ws" + url.dropFirst("http".count) }

    /// Sends a request and returns the response's JSON.
    ///
    /// - Parameters:
    ///   - path: below /api/v1/.
    ///   - body: encoded as JSON; `nil` for none.
    /// - Throws: `GatewayRefusal`, or `Unavailable` without a response.
    func send(
        _ method: OutboundRequest.Method, _ path: String, _ body: (any Encodable)? = nil
    ) async throws -> JSONText {
        var headers = ["authorization": "Bearer \(self.token)"]
        // A new key for each run: a command that a person repeats is a new request, but one that a proxy repeats is the
        // same.
        if method != .get { headers["idempotency-key"] = UUID().uuidString.lowercased() }
        if body != nil { headers["content-type"] = "application/json" }
        let request = OutboundRequest(
            method: method, url: "\(self.url)/api/v1/\(path)", headers: headers,
            body: try body.map { Array(try JSONEncoder().encode($0)) } ?? [])
        let response: OutboundResponse
        do throws(OutboundFailure) {
            response = try await self.http.send(request)
        } catch {
            if error == .cancelled { throw CancellationError() }
            throw Unavailable(
                description: "No response from \(self.url): \(error). Check that a gateway is running there.")
        }
        guard (200..<300).contains(response.status) else { throw GatewayRefusal(response) }
        return JSONText(bytes: response.body)
    }
}

/// A response of a gateway, as it was sent.
struct JSONText {
    let bytes: [UInt8]

    /// - Throws: `Unavailable` if a gateway of this version would not send it.
    func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        do { return try JSONDecoder().decode(type, from: Data(self.bytes)) } catch {
            throw Unavailable(description: "The response cannot be understood. Is the URL that of a gateway?")
        }
    }

    /// With sorted members and indentation, for people and for `diff`.
    var pretty: String {
        guard let value = try? JSONSerialization.jsonObject(with: Data(self.bytes), options: .fragmentsAllowed),
            let data = try? JSONSerialization.data(
                withJSONObject: value,
                options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes, .fragmentsAllowed])
        else { return String(decoding: self.bytes, as: UTF8.self) }
        return String(decoding: data, as: UTF8.self)
    }
}

/// A request that a gateway refused (RFC 9457).
struct GatewayRefusal: Error, CustomStringConvertible {
    let status: Int
    private let problem: Problem?

    private struct Problem: Decodable {
        var code: String?
        var detail: String?
        var jobStatus: String?
        var tasks: [String]?
        var retryInMs: Int64?
        var traceId: String?
    }

    init(_ response: OutboundResponse) {
        self.status = response.status
        self.problem = try? JSONDecoder().decode(Problem.self, from: Data(response.body))
    }

    /// Whether the gateway rejected the token, or the token does not permit the request.
    var isForbidden: Bool { self.status == 401 || self.status == 403 }

    /// Whether the same request may succeed later.
    var isPassing: Bool { self.status == 429 || self.status >= 500 }

    var description: String {
        guard let problem, let code = problem.code else {
            return
                "The server answered HTTP \(self.status) without a problem document; it may not be a gateway. Check the URL."
        }
        let title = code.split(separator: "_").joined(separator: " ")
        var text = "\(title.prefix(1).uppercased())\(title.dropFirst()) (\(self.status)). "
        text += problem.detail ?? "The gateway gave no reason."
        if let status = problem.jobStatus { text += " The job's status is \(status)." }
        if let tasks = problem.tasks, !tasks.isEmpty { text += " Active tasks: \(tasks.joined(separator: ", "))." }
        if let wait = problem.retryInMs { text += " Try again in \((wait + 999) / 1000) s." }
        if self.status >= 500, let trace = problem.traceId { text += " Trace id: \(trace)." }
        return text
    }
}
