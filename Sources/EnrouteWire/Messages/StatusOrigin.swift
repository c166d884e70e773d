// Where a published status came from. Gateways use it for their metrics and logs; clients may ignore it.

/// The optional members of a published `status`. A value.
package struct StatusOrigin: Hashable, Sendable {
    /// When a gateway received the change, ms since the epoch by its clock; `nil` if the message does not contain it.
    package private(set) var receivedAt: Int64?
    /// The trace of the request that caused the change (W3C Trace Context), as it was published; not validated.
    package private(set) var traceparent: String?

    /// - Parameter message: a message that is valid as `ServerMessage`. Members that are malformed count as missing.
    package init(_ message: UnsafeRawBufferPointer) {
        var (receivedAt, traceparent) = (Int64?.none, String?.none)
        do throws(BadMessage) {
            var reader = JSONReader(message)
            try reader.object { (name, reader) throws(BadMessage) in
                if name.equals("received") {
                    receivedAt = try reader.integer()
                } else if name.equals("traceparent") {
                    traceparent = try reader.string()
                } else {
                    try reader.value()
                }
            }
        } catch { return }
        self.receivedAt = receivedAt.flatMap { Fix.times.contains($0) ? $0 : nil }
        self.traceparent = traceparent
    }
}
