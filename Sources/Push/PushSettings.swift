// How browsers are notified: with which key and over which connections.

package import OutboundHTTP
package import Webhooks

/// The settings of push messages.
package struct PushSettings: Sendable {
    package let key: PushKey
    package var resolver: HostResolver
    let http: OutboundHTTP
    /// The pauses before a message is sent again after a temporary failure.
    package var pauses: [Duration] = [.seconds(2), .seconds(10)]

    /// How long one attempt may take.
    static let longestAttempt: Duration = .seconds(10)
    /// Maximum size of a response in bytes. Its content is not used.
    private static let longestAnswer = 16_384
    /// How many seconds a push service stores a message for a phone that is offline. Later, the message would be wrong.
    static let messageLifetimeSeconds = 300

    /// - Parameters:
    ///   - authorities: PEM file of the CAs trusted for push services; `nil` for the system's.
    package init(
        key: PushKey, resolver: HostResolver = HostResolver(rule: AddressRule()), authorities: String? = nil
    ) throws(NoCertificates) {
        (self.key, self.resolver) = (key, resolver)
        self.http = try OutboundHTTP(
            authorities: authorities, longestWait: Self.longestAttempt, longestAnswer: Self.longestAnswer)
    }
}
