// Requests to other services, their responses, and the reasons for failures: plain values. A request may contain a key or the
// location of a person, so its description reveals nothing.

/// One request to another service.
package struct OutboundRequest: Sendable, CustomStringConvertible, CustomReflectable {
    package enum Method: String, Sendable { case get = "GET", post = "POST", patch = "PATCH" }

    package var method: Method
    package var url: String
    /// Header fields in addition to `user-agent: enroute`.
    package var headers: [String: String]
    package var body: [UInt8]

    package init(method: Method = .get, url: String, headers: [String: String] = [:], body: [UInt8] = []) {
        (self.method, self.url, self.headers, self.body) = (method, url, headers, body)
    }

    package var description: String { "<a request to another service>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A complete response, whatever its status.
package struct OutboundResponse: Sendable {
    package let status: Int
    package let body: [UInt8]
    private let headers: [String: String]

    /// - Parameter headers: by lower-case name. If a name occurs several times, the first value counts.
    init(status: Int, headers: [String: String], body: [UInt8]) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    /// - Parameter name: in lower case.
    package func header(_ name: String) -> String? { self.headers[name] }
}

/// Why there is no response. All cases are expected, and the next request may succeed.
package enum OutboundFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The response was not complete within the time limit.
    case late
    /// - Parameter status: the status of the response. A redirect or an error may have a long page.
    case tooLong(status: Int)
    /// - Parameters:
    ///   - reason: from the network or TLS; may contain an address.
    ///   - withoutAddress: the same without an address, for logs that must not reveal the destination.
    case unreachable(reason: String, withoutAddress: String)
    /// The caller stopped waiting for the response.
    case cancelled

    package var description: String {
        switch self {
        case .late: "the response was not complete within the time limit"
        case .tooLong: "the response is too long"
        case .unreachable(let reason, _): reason
        case .cancelled: "the request was cancelled"
        }
    }
}

/// A file of CAs that contains no certificate.
package struct NoCertificates: Error {
    /// The path of the file.
    package let path: String
}
