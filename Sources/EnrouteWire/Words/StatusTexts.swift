// The translations of job statuses: four texts for each status, in English, in German, and in any language that a deployment
// adds as a JSON file of the same form. A file that lacks a text is rejected at startup, so nobody ever sees a raw key.

/// The translation of one status.
public struct StatusText: Hashable, Sendable {
    /// A label: `On its way`.
    public var short: String
    /// A sentence without its full stop: `Your order is on its way`.
    public var long: String
    /// A whole sentence, for screen readers and voice output.
    public var spoken: String
    /// What happens next, or what the customer can do: one or two whole sentences.
    public var next: String
}

/// The translations of all statuses in one language.
public struct StatusTexts: Hashable, Sendable {
    /// A BCP 47 language tag (RFC 5646): `en`, `pt-BR`.
    public let language: String
    /// The unchanged file, which `GET texts` serves to the pages.
    public let json: [UInt8]
    private let texts: [JobStatus: StatusText]

    /// - Throws: `BadMessage`, which names the missing or unknown entry.
    public init(json: [UInt8]) throws(BadMessage) {
        var language: String?
        var texts: [JobStatus: StatusText] = [:]
        try json.withUnsafeBufferPointer { (bytes) throws(BadMessage) in
            var reader = JSONReader(UnsafeRawBufferPointer(bytes))
            try reader.object { (name, reader) throws(BadMessage) in
                if name.equals("language") {
                    language = try reader.string()
                } else if name.equals("statuses") {
                    try reader.object { (name, reader) throws(BadMessage) in
                        let key = String(decoding: name, as: UTF8.self)
                        guard let status = JobStatus(rawValue: key) else {
                            throw BadMessage("statuses.\(key) is not a known status")
                        }
                        texts[status] = try StatusText(from: &reader, status)
                    }
                } else {
                    try reader.value()
                }
            }
            try reader.end()
        }
        guard let language, !language.isEmpty,
            language.utf8.allSatisfy({ $0.isAlphanumeric || $0 == UInt8(ascii: "-") })
        else { throw BadMessage("language must be a BCP 47 tag, for example en or pt-BR") }
        for status in JobStatus.allCases where texts[status] == nil {
            throw BadMessage("statuses.\(status.rawValue) is missing")
        }
        (self.language, self.json, self.texts) = (language, json, texts)
    }

    public subscript(status: JobStatus) -> StatusText {
        // `init` throws unless every status has a text.
        self.texts[status]!
    }

    public static let english = Self.included(EmbeddedTexts.json("en"))
    public static let german = Self.included(EmbeddedTexts.json("de"))

    private static func included(_ json: [UInt8]) -> Self {
        do {
            return try Self(json: json)
        } catch {
            preconditionFailure("an embedded translation file is invalid: \(error)")
        }
    }
}

extension StatusText {
    fileprivate init(from reader: inout JSONReader, _ status: JobStatus) throws(BadMessage) {
        var texts: [String: String] = [:]
        try reader.object { (name, reader) throws(BadMessage) in
            texts[String(decoding: name, as: UTF8.self)] = try reader.string()
        }
        func required(_ name: String) throws(BadMessage) -> String {
            guard let text = texts[name], !text.isEmpty else {
                throw BadMessage("statuses.\(status.rawValue).\(name) is missing")
            }
            return text
        }
        self.init(
            short: try required("short"), long: try required("long"), spoken: try required("spoken"),
            next: try required("next"))
    }
}

/// The available languages. The first one is the default.
public struct StatusLanguages: Sendable {
    public let all: [StatusTexts]

    /// English, German and the given languages. A given language that already exists replaces the embedded one.
    public init(further: [StatusTexts] = []) {
        var all = [StatusTexts.english, .german]
        for texts in further {
            if let index = all.firstIndex(where: { $0.language.lowercased() == texts.language.lowercased() }) {
                all[index] = texts
            } else {
                all.append(texts)
            }
        }
        self.all = all
    }

    /// The texts of a language, compared case-insensitively, or `nil` if it does not exist.
    public subscript(language: String) -> StatusTexts? {
        self.all.first { $0.language.lowercased() == language.lowercased() }
    }

    /// Returns the language for a tag: that of the tag itself, or else of the longest part of it that is available (the
    /// lookup of RFC 4647 section 3.4). `zh-Hant-TW` finds `zh-Hant`, or else `zh`.
    public func lookup(_ tag: some StringProtocol) -> StatusTexts? {
        var subtags = tag.split(separator: "-").prefix(Self.maxSubtags)
        while !subtags.isEmpty {
            if let texts = self[subtags.joined(separator: "-")] { return texts }
            subtags.removeLast()
            // A single character introduces the subtag that was removed.
            if subtags.last?.count == 1 { subtags.removeLast() }
        }
        return nil
    }

    /// Returns the language that suits a reader best.
    ///
    /// - Parameter header: `Accept-Language` (RFC 9110 section 12.5.4), of which the first 16 ranges count.
    public func best(accepting header: String) -> StatusTexts {
        let ranges = header.split(separator: ",").prefix(Self.maxRanges).compactMap { LanguageRange($0) }
        for range in ranges.sorted(by: { $0.weight > $1.weight }) where range.weight > 0 {
            if range.tag == "*" { return self.all[0] }
            if let texts = self.lookup(range.tag) { return texts }
        }
        return self.all[0]
    }

    private static let maxRanges = 16
    /// The maximum number of subtags of a tag that count. Real tags have at most four or five.
    private static let maxSubtags = 8
}

private struct LanguageRange {
    let tag: String
    let weight: Double

    init?(_ text: Substring) {
        let parts = text.split(separator: ";").map { $0.drop { $0 == " " } }
        guard let tag = parts.first.map({ $0.prefix { $0 != " " } }), !tag.isEmpty else { return nil }
        self.tag = String(tag)
        let quality = parts.dropFirst().first { $0.hasPrefix("q=") }
        guard let quality else {
            self.weight = 1
            return
        }
        guard let weight = Double(quality.dropFirst(2).prefix { $0 != " " }), (0...1).contains(weight) else {
            return nil
        }
        self.weight = weight
    }
}

extension UInt8 {
    fileprivate var isAlphanumeric: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
