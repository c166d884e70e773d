// The format of log lines: logfmt, which people can read and log collectors parse, or JSON, one object for each line. Times are
// UTC with milliseconds. Values are quoted. Control characters, line separators and characters that override the direction of
// the text are escaped, so a value cannot forge a log line.

import EnrouteWire
import Foundation
import Logging

/// The encoding of log lines.
enum LogFormat: String, CaseIterable {
    case logfmt, json
}

/// Formats one log line.
enum LogLine {
    static func text(
        at time: Date, _ level: Logger.Level, _ message: String, _ metadata: [String: String], source: String,
        as format: LogFormat = .logfmt
    ) -> String {
        let fields =
            [("time", Self.time(time)), ("level", level.rawValue), ("msg", message)]
            + metadata.sorted { $0.key < $1.key }.map { (Self.key($0.key), $0.value) } + [("source", source)]
        switch format {
        case .logfmt: return fields.map { "\($0.0)=\(Self.value($0.1))" }.joined(separator: " ")
        case .json:
            // Keys contain no character that JSON escapes, and all values are strings.
            return "{" + fields.map { "\"\($0.0)\":\(Self.quoted($0.1))" }.joined(separator: ",") + "}"
        }
    }

    private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    static func time(_ time: Date) -> String { time.formatted(Self.style) }

    /// The fields of every line. Metadata of other packages must not repeat them, because each name must occur only
    /// once in a JSON object.
    private static let ownKeys: Set = ["time", "level", "msg", "source"]

    private static func key(_ text: String) -> String {
        let key = text.utf8.allSatisfy(Self.isKeyByte) ? text : Self.replacingInvalid(in: text)
        return self.ownKeys.contains(key) ? key + "_" : key
    }

    private static func replacingInvalid(in text: String) -> String {
        String(text.map { $0.asciiValue.map(Self.isKeyByte) == true ? $0 : "_" })
    }

    private static func isKeyByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// The text itself if it needs no quotes, else quoted and escaped.
    static func value(_ text: String) -> String {
        let isPlain =
            !text.isEmpty && text.unicodeScalars.allSatisfy { $0 != " " && $0 != "=" && !Self.isEscaped($0) }
        return isPlain ? text : self.quoted(text)
    }

    /// The text as a JSON string, which is also how logfmt quotes.
    private static func quoted(_ text: String) -> String {
        text.unicodeScalars.contains(where: Self.isEscaped) ? "\"\(Self.escaped(text))\"" : "\"\(text)\""
    }

    private static func isEscaped(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "\"" || scalar == "\\" || !ShownText.isShown(scalar)
    }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": escaped += "\\\""
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\r": escaped += "\\r"
            case "\t": escaped += "\\t"
            case _ where Self.isEscaped(scalar):
                let digits = String(scalar.value, radix: 16)
                escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

/// Formats log lines and queues them for standard error.
struct LogLineHandler: LogHandler {
    let format: LogFormat
    var logLevel = Logger.Level.info
    var metadata = Logger.Metadata()

    init(format: LogFormat = .logfmt) { self.format = format }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var metadata = self.metadata.merging(event.metadata ?? [:]) { $1 }.mapValues { "\($0)" }
        if let error = event.error { metadata["error"] = "\(error)" }
        LogQueue.standardError.append(
            Self.line(event.level, "\(event.message)", metadata, event.source, self.format), format: self.format)
    }

    /// A line of the current time, with its line feed.
    static func line(
        _ level: Logger.Level, _ message: String, _ metadata: [String: String], _ source: String, _ format: LogFormat
    ) -> String {
        let priority = JournalPriority.isUsed ? JournalPriority.prefix(level) : ""
        return priority + LogLine.text(at: .now, level, message, metadata, source: source, as: format) + "\n"
    }
}
