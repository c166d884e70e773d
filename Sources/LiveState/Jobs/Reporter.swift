// The device that reports for a trip. Only one device reports at a time: with two phones of one rider, the marker would
// jump between their locations. Redis decides which (decisions/one-device.md).

package import EnrouteWire

/// Identifies one device of a rider. The text is 1 to 64 of `[A-Za-z0-9_~-]`.
package struct Reporter: Hashable, Sendable {
    package let text: String

    /// A device with a name, which stays the same across connections.
    package init(_ device: DeviceID) { self.text = device.text }

    private init(nameless text: String) { self.text = text }

    /// A connection of a device without a name. Each connection counts as another device.
    package static func connection() -> Reporter {
        Reporter(nameless: "~" + String(UInt64.random(in: .min ... .max), radix: 36))
    }

    /// REST requests without a device name. All such requests of a rider count as one device.
    package static let requests = Reporter(nameless: "~rest")

    /// Whether it lasts only as long as its connection. When it falls silent, another unnamed device may replace it.
    package var isNameless: Bool { self.text.utf8.first == UInt8(ascii: "~") }

    /// - Parameter text: as stored in Redis.
    /// - Returns: `nil` if it is malformed.
    init?(stored text: String) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy({ $0 == UInt8(ascii: "~") || $0.isOfIdentifier })
        else { return nil }
        self.text = text
    }
}

extension UInt8 {
    fileprivate var isOfIdentifier: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
