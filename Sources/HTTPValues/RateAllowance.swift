// The rest of a client's rate limit, for the header fields RateLimit and RateLimit-Policy
// (draft-ietf-httpapi-ratelimit-headers), so that a client can slow down before it is refused.

package import HTTPTypes
internal import Synchronization

/// A rate limit and the rest of it.
package struct RateAllowance: Sendable, Hashable {
    /// The name of the policy, of letters and underscores.
    package let policy: StaticPolicy
    /// The number of requests that may be sent at once.
    package let quota: Int
    /// The time in which that many requests accrue, in seconds.
    package let window: Int
    package let remaining: Int
    /// The time until the whole quota is available again, in seconds.
    package let reset: Int

    package enum StaticPolicy: String, Sendable {
        /// Requests of one person.
        case person
        /// Requests without a token, of one address.
        case address
    }

    package init(_ policy: StaticPolicy, quota: Int, window: Int, remaining: Int, reset: Int) {
        (self.policy, self.quota, self.window) = (policy, quota, window)
        (self.remaining, self.reset) = (remaining, reset)
    }

    /// Adds both fields, which are lists of items (RFC 9651).
    package func add(to headers: inout HTTPFields) {
        headers[.rateLimitPolicy] = #""\#(self.policy.rawValue)";q=\#(self.quota);w=\#(self.window)"#
        headers[.rateLimit] = #""\#(self.policy.rawValue)";r=\#(self.remaining);t=\#(self.reset)"#
    }
}

/// The allowance of one request, which the route stores and the response contains.
package final class RequestAllowance: Sendable {
    private let value = Mutex<RateAllowance?>(nil)

    package init() {}

    package var current: RateAllowance? {
        get { self.value.withLock { $0 } }
        set { self.value.withLock { $0 = newValue } }
    }
}

extension HTTPField.Name {
    package static let rateLimit = HTTPField.Name("RateLimit")!
    package static let rateLimitPolicy = HTTPField.Name("RateLimit-Policy")!
}
