// Which request is which, across systems: W3C Trace Context. A caller's trace goes on here, a request without one begins
// one; answers, problem documents and log lines name it, so that a report of a failure leads to its lines.

/// The trace that a request is part of, and this gateway's part of it (www.w3.org/TR/trace-context, section 3.2).
package struct RequestTrace: Hashable, Sendable {
    /// 32 of [0-9a-f], not all zero.
    package let traceID: String
    /// 16 of [0-9a-f], not all zero: of what is done here.
    let spanID: String
    /// The caller writes its part down.
    let isSampled: Bool

    /// - Parameter traceparents: values of the header `traceparent`. What is not one that the standard allows begins a
    ///   new trace.
    package init(_ traceparents: [String]) {
        let parent = traceparents.count == 1 ? Self.parse(traceparents[0]) : nil
        self.traceID = parent?.traceID ?? Self.digits(.random(in: .min ... .max)) + Self.digits(.random(in: 1 ... .max))
        self.spanID = Self.digits(.random(in: 1 ... .max))
        self.isSampled = parent?.isSampled ?? false
    }

    /// Value of the header `traceresponse` (Trace Context Level 2).
    package var traceresponse: String { "00-\(self.traceID)-\(self.spanID)-\(self.isSampled ? "01" : "00")" }

    /// Bytes of a header of version 00: `00-<32 digits>-<16 digits>-<2 digits>`.
    private static let bytesOfFirstVersion = 55

    private static func parse(_ header: String) -> (traceID: String, isSampled: Bool)? {
        let bytes = Array(header.utf8)
        guard bytes.count >= Self.bytesOfFirstVersion else { return nil }
        let parts = bytes.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count >= 4, parts.prefix(4).map(\.count) == [2, 32, 16, 2],
            parts.prefix(4).allSatisfy({ $0.allSatisfy(\.isSmallHexDigit) }),
            parts[1...2].allSatisfy({ $0.contains { $0 != UInt8(ascii: "0") } })
        else { return nil }
        let version = String(decoding: parts[0], as: UTF8.self)
        // A later version may say more behind these four parts; ff is none.
        guard version != "ff", version != "00" || bytes.count == Self.bytesOfFirstVersion else { return nil }
        let flags = UInt8(String(decoding: parts[3], as: UTF8.self), radix: 16) ?? 0
        return (String(decoding: parts[1], as: UTF8.self), flags & 1 == 1)
    }

    private static func digits(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension UInt8 {
    fileprivate var isSmallHexDigit: Bool { (48...57).contains(self) || (97...102).contains(self) }
}
