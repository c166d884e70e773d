// Prints a JSON document of the gateway as text: one member per line, including members that a newer gateway adds.

import Foundation

enum DocumentScreen {
    /// These members come first; the others follow by name.
    private static let first = ["job", "rider", "kind", "zone", "status", "statusAt", "tracking", "reason"]
    /// Members for programs, printed only with --json.
    private static let omitted: Set = ["epoch", "id", "missed", "steps", "text", "version", "type"]
    /// Smaller numbers are not times in ms since the epoch.
    private static let earliestTime = 1e12

    /// Prints a document: unchanged with --json, otherwise as text.
    static func show(_ answer: JSONText, _ options: ClientOptions) throws {
        guard !options.json else { return say(answer.pretty) }
        guard let members = try? JSONSerialization.jsonObject(with: Data(answer.bytes)) as? [String: Any] else {
            throw Unavailable(description: "The response is not a JSON object. Is the URL that of a gateway?")
        }
        let names = Self.first.filter { members[$0] != nil } + members.keys.filter { !Self.first.contains($0) }.sorted()
        let rows = names.filter { !Self.omitted.contains($0) }.map { ($0, Self.text(members[$0] ?? NSNull())) }
        let width = rows.map(\.0.count).max() ?? 0
        for (name, value) in rows {
            say(name.padding(toLength: width + 2, withPad: " ", startingAt: 0) + value)
        }
    }

    private static func text(_ value: Any) -> String {
        switch value {
        case is NSNull: return "none"
        case let text as String: return text
        case let number as NSNumber:
            // JSONSerialization represents Booleans as numbers.
            if String(cString: number.objCType) == "c" { return number.boolValue ? "yes" : "no" }
            return number.doubleValue >= Self.earliestTime ? Self.time(number.int64Value) : "\(number)"
        case let list as [Any]: return list.isEmpty ? "none" : list.map(Self.text).joined(separator: "; ")
        case let object as [String: Any]:
            return object.sorted { $0.key < $1.key }.filter { !Self.omitted.contains($0.key) }
                .map { "\($0.key) \(Self.text($0.value))" }.joined(separator: ", ")
        default: return "\(value)"
        }
    }

    /// - Parameter milliseconds: since the epoch.
    /// - Returns: UTC, to the second.
    static func time(_ milliseconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(.iso8601)
    }
}
