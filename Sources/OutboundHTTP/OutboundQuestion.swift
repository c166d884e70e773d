// What is asked of another service, what comes back, and why nothing does: plain values. What a question holds may be a
// key or the places of people, so it does not describe itself.

/// One question to another service.
package struct OutboundQuestion: Sendable, CustomStringConvertible, CustomReflectable {
    package enum Method: String, Sendable { case get = "GET", post = "POST" }

    package var method: Method
    package var url: String
    /// Besides `user-agent`, which says `enroute`.
    package var headers: [String: String]
    package var body: [UInt8]

    package init(method: Method = .get, url: String, headers: [String: String] = [:], body: [UInt8] = []) {
        (self.method, self.url, self.headers, self.body) = (method, url, headers, body)
    }

    package var description: String { "<a question to another service>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The whole answer, whatever its status.
package struct OutboundAnswer: Sendable {
    package let status: Int
    package let body: [UInt8]
    private let headers: [String: String]

    /// - Parameter headers: by their names in lower case; of several of a name the first.
    init(status: Int, headers: [String: String], body: [UInt8]) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    /// - Parameter name: in lower case.
    package func header(_ name: String) -> String? { self.headers[name] }
}

/// Why there is no answer. All are expected, and the next question may be answered.
package enum OutboundFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// Not whole within the time.
    case late
    /// - Parameter status: what it began with; a redirect or a refusal may come with a long page.
    case tooLong(status: Int)
    /// - Parameters:
    ///   - reason: as the network or TLS says it; it may name an address.
    ///   - withoutAddress: the same where no log may name what was asked.
    case notReached(reason: String, withoutAddress: String)
    /// The caller stopped waiting for the answer.
    case cancelled

    package var description: String {
        switch self {
        case .late: "no whole answer came in time"
        case .tooLong: "the answer is too long"
        case .notReached(let reason, _): reason
        case .cancelled: "nobody waits for the answer any more"
        }
    }
}

/// A file that was to name authorities, and holds no certificate.
package struct NoAuthorities: Error {
    /// The file.
    package let path: String
}
