// Where a change of status came from, for the metrics and logs of the gateways that relay it.

/// When a change reached Enroute, and the trace it belongs to. A value.
package struct ChangeOrigin: Hashable, Sendable {
    /// When a gateway received the change, ms since the epoch; `nil` if that is unknown.
    package var receivedAt: Int64?
    /// The value of the header `traceparent` (W3C Trace Context) for the next hop; `nil` if the caller sent none.
    package var traceparent: String?

    package init(receivedAt: Int64? = nil, traceparent: String? = nil) {
        (self.receivedAt, self.traceparent) = (receivedAt, traceparent)
    }
}
