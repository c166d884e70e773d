// What a number or a name from Redis may be. Redis is a peer like any other: whoever may write there can put anything under
// a name of ours, and a number is only trusted once it lies where ours do. Then no sum or product of it overflows.

internal import EnrouteWire
internal import Redis

extension Int64 {
    /// ms since the epoch, as our scripts write it: at most 13 digits.
    var isMoment: Bool { (0...9_999_999_999_999).contains(self) }
    /// s since the epoch: at most 10 digits.
    var isSecond: Bool { (0...9_999_999_999).contains(self) }
    /// Number of a decision, at most 15 digits: what our scripts take.
    var isFence: Bool { (0...999_999_999_999_999).contains(self) }
    /// Version of a zone's change, µs since the epoch: at most 16 digits.
    var isVersion: Bool { (0...9_999_999_999_999_999).contains(self) }
    /// How many there are of something that people do.
    var isCount: Bool { (0...1_000_000_000).contains(self) }
}

extension StringProtocol {
    /// ms since the epoch; `nil` for anything else.
    var moment: Int64? { Int64(self).flatMap { $0.isMoment ? $0 : nil } }
    /// s since the epoch; `nil` for anything else.
    var second: Int64? { Int64(self).flatMap { $0.isSecond ? $0 : nil } }
    var fence: Int64? { Int64(self).flatMap { $0.isFence ? $0 : nil } }
    var version: Int64? { Int64(self).flatMap { $0.isVersion ? $0 : nil } }
    /// How many; `nil` for anything else.
    var amount: Int? { Int64(self).flatMap { $0.isCount ? Int($0) : nil } }

    /// A word that this process chose at random: the nonce of a job's record, say.
    var isNonce: Bool {
        (1...64).contains(self.utf8.count)
            && self.utf8.allSatisfy {
                (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || $0 == 45 || $0 == 95
            }
    }
}

/// What may be absent and must be one of ours where it is not: '' is absent.
///
/// - Returns: `nil` for what is not ours.
func optional<Value>(_ text: String, _ parse: (String) -> Value?) -> Value?? {
    text.isEmpty ? .some(nil) : parse(text).map { .some($0) }
}

extension RESPValue {
    /// ms since the epoch; `nil` for anything else.
    var moment: Int64? { self.integer.flatMap { $0.isMoment ? $0 : nil } }
    var fence: Int64? { self.integer.flatMap { $0.isFence ? $0 : nil } }
}

extension RedisClient {
    /// The names in a list. An entry that is not a valid name is reported and skipped.
    ///
    /// - Parameters:
    ///   - key: where the list is.
    ///   - command: that read it.
    func names<Kind>(_ answer: RESPValue, of key: String, by command: String) -> [Identifier<Kind>] {
        let words = answer.array ?? []
        let names = words.compactMap { $0.text.flatMap { Identifier<Kind>($0) } }
        if names.count < words.count || answer.array == nil { self.refuse(key, by: command) }
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
