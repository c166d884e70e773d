// Requests to a provider and its responses, as values that need no socket. A request contains a key and people's
// positions, so its description is redacted.

package import OutboundHTTP

package struct ProviderRequest: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    package typealias Method = OutboundRequest.Method

    package var method: Method
    package var url: String
    package var headers: [String: String]
    package var body: [UInt8]

    init(method: Method = .get, url: String, headers: [String: String] = [:], body: [UInt8] = []) {
        (self.method, self.url, self.headers, self.body) = (method, url, headers, body)
    }

    package var description: String { "<a request to a provider>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A complete response of a provider. `ProviderClient` passes on no header except `Retry-After`.
package struct ProviderResponse: Hashable, Sendable {
    package var status: Int
    /// The value of `Retry-After` in seconds; a date is converted.
    package var retryAfterSeconds: Int?
    package var body: [UInt8]

    package init(status: Int, retryAfterSeconds: Int? = nil, body: [UInt8]) {
        (self.status, self.retryAfterSeconds, self.body) = (status, retryAfterSeconds, body)
    }

    /// Throws unless the provider can parse the response.
    ///
    /// - Parameter parsing: statuses besides 200 that the provider parses, because they or the body explain why there
    ///   is no result. 401, 403, 429 and redirects always throw.
    /// - Throws: `throttled`, `keyRefused`, `redirected`, or `status` for any other status.
    func checkStatus(parsing: Set<Int> = []) throws(ProviderFailure) {
        switch self.status {
        case 200: return
        case 429: throw .throttled(retryAfterSeconds: self.retryAfterSeconds)
        case 401, 403: throw .keyRefused
        case 300..<400: throw .redirected
        case let status where parsing.contains(status): return
        case let status: throw .status(status)
        }
    }
}

/// The API key of a provider. Its description is redacted.
package struct ProviderKey: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
{
    let text: String

    /// - Returns: `nil` if the text is not valid in a header: empty, or with characters other than printable ASCII.
    package init?(_ text: String) {
        guard !text.isEmpty, text.utf8.allSatisfy({ (33...126).contains($0) }) else { return nil }
        self.text = text
    }

    package var description: String { "<a key>" }
    package var debugDescription: String { self.description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Why a provider returned no result. All cases are expected, and the next provider may have one. None contains a
/// position or a key.
package enum ProviderFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// No response within the timeout.
    case late
    case unreachable(String)
    /// Too many requests; retry after this many seconds.
    case throttled(retryAfterSeconds: Int?)
    case keyRefused
    case redirected
    case status(Int)
    case tooLong
    case malformed(String)
    /// The provider works, but there is no route between these points.
    case noRoute
    /// The provider works, but does not know the address.
    case noPlace

    /// Whether the provider itself failed. Counts toward opening the circuit breaker and marks the dependency as down.
    /// `noRoute` and `noPlace` do not.
    package var isFault: Bool { self != .noRoute && self != .noPlace }

    /// Whether operations staff must act: correct the URL or the key, or change the provider.
    package var needsOperator: Bool {
        switch self {
        case .keyRefused, .redirected, .malformed, .tooLong: true
        case .late, .unreachable, .throttled, .status, .noRoute, .noPlace: false
        }
    }

    package var description: String {
        switch self {
        case .late: "The provider did not answer within the timeout. Check that it is running and reachable."
        case .unreachable(let reason): "Cannot connect to the provider: \(reason). Check its URL and the firewall."
        case .throttled(let seconds):
            "The provider received too many requests\(seconds.map { " and asks to wait \($0) s" } ?? ""). "
                + "Increase its quota or lower the daily limit."
        case .keyRefused: "The provider rejected the key. Check that it is correct and valid for this service."
        case .redirected:
            "The provider returned a redirect, which is not followed. Configure the URL it redirects to."
        case .status(let status): "The provider returned status \(status) instead of 200."
        case .tooLong: "The provider's response is longer than \(ProviderClient.longestAnswer) bytes. Check its URL."
        case .malformed(let reason): "The provider's response is invalid: \(reason). Check its URL and version."
        case .noRoute: "The provider found no route between these points."
        case .noPlace: "The provider does not know the address."
        }
    }
}
