// The ranges of values read from Redis. Anyone with write access to Redis can store anything under Enroute's names, so a value
// is used only if it lies in the range that Enroute writes. Within these ranges no sum or product overflows.

internal import EnrouteWire
internal import Redis

extension Int64 {
    /// ms since the epoch as the scripts write it, at most 13 digits.
    var isTimestamp: Bool { (0...9_999_999_999_999).contains(self) }
    /// s since the epoch, at most 10 digits.
    var isSecond: Bool { (0...9_999_999_999).contains(self) }
    /// Number of a decision, at most 15 digits, the limit of the scripts.
    var isFence: Bool { (0...999_999_999_999_999).contains(self) }
    /// Version of a zone's change, µs since the epoch, at most 16 digits.
    var isVersion: Bool { (0...9_999_999_999_999_999).contains(self) }
    /// A number of things that people do.
    var isCount: Bool { (0...1_000_000_000).contains(self) }
}

extension StringProtocol {
    /// ms since the epoch; `nil` when out of range.
    var timestamp: Int64? { Int64(self).flatMap { $0.isTimestamp ? $0 : nil } }
    /// s since the epoch; `nil` when out of range.
    var unixSeconds: Int64? { Int64(self).flatMap { $0.isSecond ? $0 : nil } }
    var fence: Int64? { Int64(self).flatMap { $0.isFence ? $0 : nil } }
    var version: Int64? { Int64(self).flatMap { $0.isVersion ? $0 : nil } }
    /// A count; `nil` when out of range.
    var amount: Int? { Int64(self).flatMap { $0.isCount ? Int($0) : nil } }

    /// A name that a process chose at random, such as the nonce of a job's record.
    var isNonce: Bool {
        (1...64).contains(self.utf8.count)
            && self.utf8.allSatisfy {
                (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || $0 == 45 || $0 == 95
            }
    }
}

/// Parses a value that may be absent; '' stands for absent.
///
/// - Returns: `nil` when the text is malformed.
func optional<Value>(_ text: String, _ parse: (String) -> Value?) -> Value?? {
    text.isEmpty ? .some(nil) : parse(text).map { .some($0) }
}

/// Parses JSON that may be absent; '' stands for absent.
///
/// - Returns: `nil` when the text is malformed.
func optionalJSON<Value>(_ text: String, _ parse: (UnsafeRawBufferPointer) -> Value?) -> Value?? {
    optional(text) { text in
        var text = text
        return text.withUTF8 { parse(UnsafeRawBufferPointer($0)) }
    }
}

extension RESPValue {
    /// ms since the epoch; `nil` when out of range.
    var timestamp: Int64? { self.integer.flatMap { $0.isTimestamp ? $0 : nil } }
    var fence: Int64? { self.integer.flatMap { $0.isFence ? $0 : nil } }
}

extension RedisClient {
    /// The names in a list. An entry that is not a valid name is reported and skipped.
    ///
    /// - Parameters:
    ///   - key: of the list.
    ///   - command: the command that read it.
    func names<Kind>(_ answer: RESPValue, of key: String, by command: String) -> [Identifier<Kind>] {
        let entries = answer.array ?? []
        let names = entries.compactMap { $0.text.flatMap { Identifier<Kind>($0) } }
        if names.count < entries.count || answer.array == nil { self.refuse(key, by: command) }
        return names
    }

    /// A value that may be absent. An invalid value is reported and treated as absent.
    func value<Value>(
        _ answer: RESPValue, of key: String, by command: String, _ parse: (RESPValue) -> Value?
    ) -> Value? {
        guard answer != .null else { return nil }
        if let value = parse(answer) { return value }
        self.refuse(key, by: command)
        return nil
    }
}
