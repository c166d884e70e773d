// Writes JSON objects whose members keep their order, so that tests can compare messages with the golden files byte by
// byte.

import Foundation

/// A JSON object that is being written.
struct JSONObject {
    private var members: [String] = []

    var text: String { "{\(self.members.joined(separator: ","))}" }

    mutating func add(_ name: String, raw value: String) { self.members.append("\"\(name)\":\(value)") }

    mutating func add(_ name: String, _ value: String?) {
        if let value { self.add(name, raw: Self.quoted(value)) }
    }

    mutating func add(_ name: String, _ value: Bool) { self.add(name, raw: value ? "true" : "false") }

    mutating func add(_ name: String, _ value: Int64?) { if let value { self.add(name, raw: String(value)) } }

    /// Adds a number, unless JSON cannot represent it.
    mutating func add(_ name: String, _ value: Double?) {
        guard let value, value.isFinite else { return }
        self.add(name, raw: Self.number(value))
    }

    mutating func add(_ name: String, _ values: [String]) { self.add(name, raw: "[\(values.joined(separator: ","))]") }

    /// Integers have no fraction, as in JavaScript.
    static func number(_ value: Double) -> String { Int64(exactly: value).map { String($0) } ?? "\(value)" }

    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
