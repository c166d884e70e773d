// W3C Trace Context, which identifies a request across systems. A gateway continues the caller's trace, or starts one if the
// request has none. Responses, problem documents and log messages contain the trace ID, so a failure that a client reports
// can be found in the log.

internal import EnrouteWire

/// The trace that a request belongs to, and this gateway's span in it (www.w3.org/TR/trace-context, section 3.2).
package struct RequestTrace: Hashable, Sendable {
    /// 32 characters of [0-9a-f], not all zero.
    package let traceID: String
    /// The ID of this gateway's span: 16 characters of [0-9a-f], not all zero.
    let spanID: String
    /// Whether the caller records its span.
    let isSampled: Bool
    /// Whether the caller sent a trace. If not, this gateway started it.
    package let isContinued: Bool

    /// - Parameter traceparents: the values of the `traceparent` header. Anything but one valid value starts a new trace.
    package init(_ traceparents: [String]) {
        let parent = traceparents.count == 1 ? Self.parse(traceparents[0]) : nil
        self.traceID =
            parent?.traceID ?? UInt64.random(in: .min ... .max).hexadecimal + UInt64.random(in: 1 ... .max).hexadecimal
        self.spanID = UInt64.random(in: 1 ... .max).hexadecimal
        self.isSampled = parent?.isSampled ?? false
        self.isContinued = parent != nil
    }

    /// The value of the `traceresponse` header (Trace Context Level 2).
    package var traceresponse: String { "00-\(self.traceID)-\(self.spanID)-\(self.isSampled ? "01" : "00")" }

    /// The value of the `traceparent` header for requests to other systems that this one causes; `nil` if the caller
    /// sent no trace.
    package var traceparent: String? { self.isContinued ? self.traceresponse : nil }

    /// The length of a version 00 header: `00-<32 digits>-<16 digits>-<2 digits>`.
    private static let bytesOfFirstVersion = 55

    private static func parse(_ header: String) -> (traceID: String, isSampled: Bool)? {
        let bytes = Array(header.utf8)
        guard bytes.count >= Self.bytesOfFirstVersion else { return nil }
        let parts = bytes.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count >= 4, parts.prefix(4).map(\.count) == [2, 32, 16, 2],
            parts.prefix(4).allSatisfy({ $0.allSatisfy(\.isLowercaseHexDigit) }),
            parts[1...2].allSatisfy({ $0.contains { $0 != UInt8(ascii: "0") } })
        else { return nil }
        let version = String(decoding: parts[0], as: UTF8.self)
        // Later versions may append more fields to these four. Version ff is invalid.
        guard version != "ff", version != "00" || bytes.count == Self.bytesOfFirstVersion else { return nil }
        let flags = UInt8(String(decoding: parts[3], as: UTF8.self), radix: 16) ?? 0
        return (String(decoding: parts[1], as: UTF8.self), flags & 1 == 1)
    }
}
