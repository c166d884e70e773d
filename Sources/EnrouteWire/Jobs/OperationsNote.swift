// A note that operations staff keep with a job: "Gate is locked, rang twice". Customers, riders and link viewers never see it.

/// The note of a job, and who wrote it.
public struct OperationsNote: Hashable, Sendable {
    /// At most `longest` characters; may have several lines.
    public var text: String
    /// ms since the epoch
    public var at: Int64
    public var by: PersonID

    public static let longest = 500

    public init(text: String, at: Int64, by: PersonID) {
        (self.text, self.at, self.by) = (text, at, by)
    }

    /// Whether a text can be a note: not only spaces, without control characters except line breaks.
    public static func isNote(_ text: String) -> Bool { ShownText.isParagraph(text, longest: Self.longest) }
}

extension OperationsNote: CustomReflectable {
    /// Without the text, which may be personal.
    public var customMirror: Mirror { Mirror(self, children: ["at": self.at, "by": self.by], displayStyle: .struct) }
}
