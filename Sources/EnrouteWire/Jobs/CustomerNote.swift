// A customer's note for the rider: a gate code, a floor, where to leave the order.

/// The customer's text for the rider. It may have several lines.
public struct CustomerNote: Hashable, Sendable {
    public let text: String

    /// Maximum length in characters (Unicode scalars).
    public static let longest = 280

    /// - Returns: `nil` unless it is 1 to `longest` printable characters or line breaks, and not only spaces.
    public init?(_ text: String) {
        guard ShownText.isParagraph(text, longest: Self.longest) else { return nil }
        self.text = text
    }
}

extension CustomerNote: CustomReflectable {
    /// Only the length: the text may be personal.
    public var customMirror: Mirror {
        Mirror(self, children: ["characters": self.text.unicodeScalars.count], displayStyle: .struct)
    }
}
