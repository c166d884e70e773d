// What goes to a provider and what comes back, as values: built and read without a socket. A request holds a key and the
// places of people, so it does not describe itself.

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

    package var description: String { "<a question to a provider>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

package struct ProviderResponse: Hashable, Sendable {
    package var status: Int
    /// How long it asks to be left alone, s.
    package var retryAfterSeconds: Int?
    package var body: [UInt8]

    package init(status: Int, retryAfterSeconds: Int? = nil, body: [UInt8]) {
        (self.status, self.retryAfterSeconds, self.body) = (status, retryAfterSeconds, body)
    }

    /// - Throws: what a status means with every provider, but for those of which the body says more.
    func checkStatus(telling: Set<Int> = []) throws(ProviderFailure) {
        switch self.status {
        case 200: return
        case 429: throw .throttled(retryAfterSeconds: self.retryAfterSeconds)
        case 401, 403: throw .keyRefused
        case 300..<400: throw .redirected
        case let status where telling.contains(status): return
        case let status: throw .status(status)
        }
    }
}

/// A key of a provider; it does not describe itself.
package struct ProviderKey: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
{
    let text: String

    /// - Returns: `nil` for what can not stand in a header: empty, or with anything but printable ASCII.
    package init?(_ text: String) {
        guard !text.isEmpty, text.utf8.allSatisfy({ (33...126).contains($0) }) else { return nil }
        self.text = text
    }

    package var description: String { "<a key>" }
    package var debugDescription: String { self.description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Why there is no answer. All are expected; the next provider may have one. None holds a place or a key.
package enum ProviderFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// Not within the time.
    case late
    case unreachable(String)
    /// Asked too often; not again before so many seconds.
    case throttled(retryAfterSeconds: Int?)
    case keyRefused
    case redirected
    case status(Int)
    case tooLong
    case malformed(String)
    /// It works, and knows no way between these places.
    case noRoute
    /// It works, and does not know the address.
    case noPlace

    /// The provider is to blame, and asking it again at once is of no use.
    package var isFault: Bool { self != .noRoute && self != .noPlace }

    /// It does not pass by itself: somebody has to change the address, the key or the provider.
    package var needsSomebody: Bool {
        switch self {
        case .keyRefused, .redirected, .malformed, .tooLong: true
        case .late, .unreachable, .throttled, .status, .noRoute, .noPlace: false
        }
    }

    package var description: String {
        switch self {
        case .late: "The provider did not answer in time. See whether it is up, and reached from here."
        case .unreachable(let reason): "The provider can not be reached: \(reason). See its address and the firewall."
        case .throttled(let seconds):
            "The provider was asked too often\(seconds.map { " and asks to wait \($0) s" } ?? ""). "
                + "Raise its quota, or lower the daily budget."
        case .keyRefused: "The provider refuses the key. See whether it is right, and good for this service."
        case .redirected: "The provider answers with a redirect, which is not followed. Set the address it leads to."
        case .status(let status): "The provider answers with status \(status) in the place of 200."
        case .tooLong: "The provider's answer is longer than \(ProviderClient.longestAnswer) bytes. See its address."
        case .malformed(let reason): "The provider's answer can not be used: \(reason). See its address and version."
        case .noRoute: "The provider knows no way between these places."
        case .noPlace: "The provider does not know the address."
        }
    }
}
