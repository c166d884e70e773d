// Decides which part of a value may be printed. A URL can contain a password or an access key, and a malformed one can
// contain it in the wrong place. If in doubt, more of the value is masked.

/// Masks secrets in values that are printed.
enum SettingMask {
    static let mask = "****"

    static func visible(_ value: String, _ secrecy: Setting.Secrecy) -> String {
        switch secrecy {
        case .visible: value
        case .secret: Self.mask
        case .url: Self.url(value)
        }
    }

    /// Parameters of Redis URLs that are not secret. Neither are placeholders such as `{z}`.
    private static let harmless: Set = ["database", "ca", "cert", "key", "name", "sentinel_user"]

    /// The URL without its password and without the values of unknown parameters.
    static func url(_ text: String) -> String {
        var (head, rest) = ("", text[...])
        if let scheme = text.firstRange(of: "://") {
            (head, rest) = (String(text[..<scheme.upperBound]), text[scheme.upperBound...])
        }
        // Up to the last @, even after a question mark: a password that was not percent-encoded may contain one.
        if let at = rest.lastIndex(of: "@") {
            let user = rest[..<at]
            head += (user.firstIndex(of: ":").map { user[..<$0] + ":" } ?? "") + Self.mask + "@"
            rest = rest[rest.index(after: at)...]
        }
        guard let mark = rest.firstIndex(of: "?") else { return head + rest }
        let isRedis = head.hasPrefix("redis") || text.hasPrefix("unix:")
        let query = rest[rest.index(after: mark)...].split(separator: "&").map { item -> String in
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { return Self.mask }
            let isVisible =
                isRedis && Self.harmless.contains(String(parts[0])) || parts[1].wholeMatch(of: /\{[a-z]\}/) != nil
            return isVisible ? String(item) : "\(parts[0])=\(Self.mask)"
        }
        return head + rest[...mark] + query.joined(separator: "&")
    }
}
