// How webhooks are delivered: retries, time limits, and allowed addresses.

package import OutboundHTTP

/// The settings of webhooks.
package struct WebhookSettings: Sendable {
    /// The client that sends the requests.
    let http: OutboundHTTP
    package var resolver = HostResolver(rule: AddressRule())
    /// Whether endpoints on this machine may use http. Only for development gateways; no setting of `enroute serve`
    /// allows it.
    package var allowsPlainLoopback = false
    /// Whether this gateway delivers events, and moves events to the stream.
    package var isDelivering = true
    package var retries = RetrySchedule.usual
    /// How long an endpoint may fail before it is switched off.
    package var offAfter: Duration = .seconds(432_000)
    /// The longest time without an attempt after which earlier failures still count for `offAfter`. While an event waits,
    /// attempts are at most the longest delay apart, and more when no gateway runs for a while.
    package var longestBreak: Duration { (self.retries.delays.max() ?? .zero) + self.offAfter / 5 }
    /// How long one attempt may take, including the resolution of the host.
    package var attemptLimit = Self.longestAttempt
    /// How long new events of one job may take before they are moved to the waiting list, so that others do not wait.
    package var patience: Duration = .seconds(2)
    /// How long a worker pauses when the waiting list is full.
    package var fullPause: Duration = .seconds(2)

    /// The default of `attemptLimit`.
    package static let longestAttempt: Duration = .seconds(15)
    /// Maximum number of bytes of an endpoint's response that are read, so that its connection can be used again. Only
    /// the status of a response counts.
    package static let longestAnswer = 65_536
    /// Maximum number of requests of one webhook at the same time, and of its connections: each webhook has its own. The
    /// worker starts no more (`DeliveryLanes.most`); tests wait for one of its connections.
    package static let connections = 16
    /// How long the addresses of a host are used before the host is resolved again.
    package static let addressLifetime: Duration = .seconds(60)

    /// - Parameter authorities: PEM file of the CAs trusted for endpoints; `nil` for the system's.
    package init(authorities: String? = nil) throws(NoCertificates) {
        self.http = try OutboundHTTP(
            authorities: authorities, longestWait: Self.longestAttempt, longestAnswer: Self.longestAnswer)
    }

    /// The settings with the system's CAs.
    package static let usual: WebhookSettings = {
        guard let settings = try? WebhookSettings() else { preconditionFailure("no file is read") }
        return settings
    }()
}
