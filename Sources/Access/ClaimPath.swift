// The location of a claim, as the settings give it: the name of a member of the payload, or a path into nested objects.

internal import EnrouteWire

/// The path of a claim, for example `role`, `realm_access.roles`, `cognito:groups` or `https://shop.example/role`.
package struct ClaimPath: Sendable, Hashable, CustomStringConvertible {
    /// Maximum length of a path, in bytes.
    package static let longest = 200
    /// Maximum number of names in a path.
    package static let deepest = 5

    package let description: String
    /// The names, from the outermost object.
    let names: [String]

    /// - Parameter text: names separated by dots. A name that is a URL is not split; in any other name, `\.` is a dot.
    /// - Returns: `nil` for an empty name, a backslash before anything but a dot, or a path that is too long.
    package init?(_ text: String) {
        guard (1...Self.longest).contains(text.utf8.count), text.utf8.allSatisfy({ (33...126).contains($0) }),
            !text.contains("\"")
        else { return nil }
        self.description = text
        guard !text.hasPrefix("https://"), !text.hasPrefix("http://") else {
            self.names = [text]
            return
        }
        var names = [""]
        var rest = text[...]
        while let character = rest.popFirst() {
            switch character {
            case ".": names.append("")
            case "\\":
                guard rest.popFirst() == "." else { return nil }
                names[names.count - 1].append(".")
            default: names[names.count - 1].append(character)
            }
        }
        guard names.count <= Self.deepest, !names.contains("") else { return nil }
        self.names = names
    }

    /// Creates a path from a literal in the code, which must be valid.
    init(literal text: String) {
        guard let path = ClaimPath(text) else { preconditionFailure("\(text) is not the path of a claim") }
        self = path
    }
}

/// The members of a JSON object in a token, not yet parsed further.
struct ClaimSet {
    private static let null = Array("null".utf8)

    /// The value of each member, as JSON.
    private var members: [String: [UInt8]] = [:]
    /// Whether members that are `null` count as missing, here and in nested objects.
    private var omitsNull = false

    /// - Throws: `malformed` or `repeatedMember`.
    init(json: [UInt8]) throws(TokenRefusal) {
        var members: [String: [UInt8]] = [:]
        try JSONMembers.read(json) { (name, reader) throws(BadMessage) in members[name] = try Array(reader.value()) }
        self.members = members
    }

    /// The same claims without those that are `null`. Identity providers issue `null` for a value that a person does not have.
    var withoutNull: ClaimSet {
        var claims = self
        claims.omitsNull = true
        claims.members = self.members.filter { $0.value != Self.null }
        return claims
    }

    var names: Dictionary<String, [UInt8]>.Keys { self.members.keys }

    /// - Returns: the JSON of the value; `nil` if the claim is missing.
    /// - Throws: `malformed` if the path leads through a value of another type than object.
    func value(at path: ClaimPath) throws(TokenRefusal) -> [UInt8]? {
        guard let value = self.members[path.names[0]] else { return nil }
        var (current, set) = (value, self)
        for name in path.names.dropFirst() {
            do throws(TokenRefusal) { set = try ClaimSet(json: current) } catch {
                throw TokenRefusal(error.reason, claim: path)
            }
            if self.omitsNull { set = set.withoutNull }
            guard let next = set.members[name] else { return nil }
            current = next
        }
        return current
    }

    /// The string at this path.
    func string(_ path: ClaimPath) throws(TokenRefusal) -> String? {
        try self.read(path) { (reader) throws(BadMessage) in try reader.string() }
    }

    /// The string at this path as an array of one, or the array of strings.
    func strings(_ path: ClaimPath) throws(TokenRefusal) -> [String]? {
        try self.read(path) { (reader) throws(BadMessage) in
            guard reader.isAtArray else { return [try reader.string()] }
            var all: [String] = []
            try reader.array { (reader) throws(BadMessage) in all.append(try reader.string()) }
            return all
        }
    }

    /// The whole number at this path.
    func integer(_ path: ClaimPath) throws(TokenRefusal) -> Int64? {
        try self.read(path) { (reader) throws(BadMessage) in try reader.integer() }
    }

    /// The number of seconds at this path, without a fraction (RFC 7519 section 2 allows one).
    func time(_ path: ClaimPath) throws(TokenRefusal) -> Int64? {
        guard let json = try self.value(at: path) else { return nil }
        // A number with an exponent may have been rounded: 1.795e+09 can be off by days.
        guard !json.contains(where: { $0 | 0x20 == UInt8(ascii: "e") }) else {
            throw TokenRefusal(.malformed, claim: path)
        }
        // A fraction is removed as text: only digits, so that no precision is lost.
        let parts = json.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty, parts[1].allSatisfy({ (48...57).contains($0) }) else {
            return try self.integer(path)
        }
        return try Self.parse(Array(parts[0]), path) { (reader) throws(BadMessage) in try reader.integer() }
    }

    private func read<Value>(
        _ path: ClaimPath, _ read: (inout JSONReader) throws(BadMessage) -> Value
    ) throws(TokenRefusal) -> Value? {
        guard let json = try self.value(at: path) else { return nil }
        return try Self.parse(json, path, read)
    }

    private static func parse<Value>(
        _ json: [UInt8], _ path: ClaimPath, _ read: (inout JSONReader) throws(BadMessage) -> Value
    ) throws(TokenRefusal) -> Value {
        let value: Value? = json.withUnsafeBytes { bytes -> Value? in
            var reader = JSONReader(bytes)
            do throws(BadMessage) {
                let value = try read(&reader)
                try reader.end()
                return value
            } catch {
                return nil
            }
        }
        guard let value else { throw TokenRefusal(.malformed, claim: path) }
        return value
    }
}
