// Compares JSONReader with Foundation: the input as a whole message, and as the value of an unknown member. Also compares the
// values of numbers and strings.
//
// JSONReader may only be stricter, and only in what its opening comment and RFC 8259 (sections 4, 6, 8.2 and 9 leave it to the
// implementation) allow: depth, length and range of numbers, escaped or repeated names, lone surrogates. The reason of each
// error distinguishes these from mistakes.

import EnrouteWire
import Foundation

enum JSONCheck {
    /// - Parameter message: what was parsed from the input.
    static func run(_ input: [UInt8], _ message: Result<ClientMessage, BadMessage>) throws(Disagreement) {
        let head = Array(#"{"type":"ping","x":"#.utf8)
        let whole = head + input + [UInt8(ascii: "}")]
        try self.compare(whole, MessagesCheck.client(whole))
        // Foundation detects other encodings than UTF-8 at the start of a text.
        if input.first == UInt8(ascii: "{"), input.dropFirst().first != 0 { try self.compare(input, message) }
        try self.number(input)
        try self.string(input)
    }

    private static func compare(
        _ json: [UInt8], _ message: Result<ClientMessage, BadMessage>
    ) throws(Disagreement) {
        let isJSON = (try? JSONSerialization.jsonObject(with: Data(json))) != nil
        switch message {
        case .success: try require(isJSON, "\(MessagesCheck.text(json)) is accepted, but is not JSON")
        case .failure(let refusal):
            guard isJSON, !self.isStricter(refusal.reason, json) else { return }
            // A message may be JSON and still be invalid; then it is JSON for an unknown message type, too.
            let ping = Array(#"{"type":"ping","x":"#.utf8) + json + [UInt8(ascii: "}")]
            guard case .failure(let again) = MessagesCheck.client(ping), !self.isStricter(again.reason, json) else {
                return
            }
            throw Disagreement("\(MessagesCheck.text(json)) is JSON, but is rejected: \(refusal.reason)")
        }
    }

    private static func isStricter(_ reason: String, _ json: [UInt8]) -> Bool {
        switch reason {
        case "nesting is deeper than 8 levels", "a number is longer than 128 characters", "a number is out of range",
            "a member name must not contain escape sequences", "a string contains an unpaired surrogate",
            "the message contains type twice":
            true
        // Five digits of an exponent are two more than any number needs.
        case "a number is malformed": MessagesCheck.text(json).contains(/[eE][+-]?[0-9]{5,}/)
        default: false
        }
    }

    /// A number has the value that the standard library computes.
    private static func number(_ input: [UInt8]) throws(Disagreement) {
        guard input.count <= JSONReader.longestNumber, let text = String(validating: input, as: UTF8.self),
            text.wholeMatch(of: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?/) != nil
        else { return }
        let report = { (acc: String, seq: String) in
            let json =
                #"{"type":"location","job":"j","seq":\#(seq),"fixes":[{"at":1700000000000,"lat":1,"lon":1,"acc":\#(acc)}]}"#
            return MessagesCheck.client(Array(json.utf8))
        }
        if let value = Double(text), (0...10_000).contains(value) {
            guard case .success(.location(let location)) = report(text, "1") else {
                throw Disagreement("\(text) is rejected as a radius: \(report(text, "1"))")
            }
            let read = location.fixes[0].accuracyMeters
            try require(read?.bitPattern == value.bitPattern, "\(text) is parsed as \(read ?? .nan)")
        }
        let whole = self.wholeNumber(text)
        let answer = report("1", text)
        if let whole, whole >= 0 {
            guard case .success(.location(let location)) = answer, location.sequence == whole else {
                throw Disagreement("\(text) is not parsed as \(whole): \(answer)")
            }
        } else if case .success = answer {
            throw Disagreement("\(text) is parsed as an integer from 0")
        }
    }

    /// The value of a number, calculated by moving its decimal point as text; `nil` for a fraction, and for more than the 18
    /// digits that always fit.
    private static func wholeNumber(_ number: String) -> Int64? {
        let parts = number.lowercased().split(separator: "e")
        let decimal = parts[0].split(separator: ".")
        let sign = decimal[0].hasPrefix("-") ? "-" : ""
        let digits = decimal[0].drop { $0 == "-" } + (decimal.count > 1 ? decimal[1] : "")
        let fraction = decimal.count > 1 ? decimal[1].count : 0
        // The number of digits before the point, which may be outside of them.
        let point = digits.count - fraction + (parts.count > 1 ? Int(parts[1]) ?? 0 : 0)
        guard digits.contains(where: { $0 != "0" }) else { return 0 }
        let padded = digits + String(repeating: "0", count: max(0, point - digits.count))
        guard padded.dropFirst(max(0, point)).allSatisfy({ $0 == "0" }) else { return nil }
        let whole = padded.prefix(max(0, point)).drop { $0 == "0" }
        return whole.count <= 18 ? Int64(sign + whole) : nil
    }

    /// A string has the text that Foundation computes.
    private static func string(_ input: [UInt8]) throws(Disagreement) {
        guard input.first == UInt8(ascii: "\"") else { return }
        let json = Array(#"{"type":"auth","token":"#.utf8) + input + [UInt8(ascii: "}")]
        guard case .success(.auth(.token(let read))) = MessagesCheck.client(json) else { return }
        let object = try? JSONSerialization.jsonObject(with: Data(json)) as? [String: Any]
        // A second token in the input would be rejected, so there is only one.
        try require(
            (object?["token"] as? String).map { Array($0.utf8) } == Array(read.utf8),
            "\(MessagesCheck.text(input)) is parsed as \(read)")
    }
}
