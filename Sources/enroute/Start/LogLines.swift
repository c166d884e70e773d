// The format of log lines: logfmt, which people can read and log collectors parse, or JSON, one object for each line. Times are
// UTC with milliseconds. Values are quoted and control characters escaped, so a value cannot forge a log line.

import Foundation
import Logging
import Synchronization

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

    /// The fields of every line, which metadata of other packages must not repeat: a JSON object has each name once.
    private static let ownKeys: Set = ["time", "level", "msg", "source"]

    private static func key(_ text: String) -> String {
        let key = String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) ? $0 : "_" })
        return self.ownKeys.contains(key) ? key + "_" : key
    }

    /// The text itself if it needs no quotes, else quoted and escaped.
    static func value(_ text: String) -> String {
        let isPlain =
            !text.isEmpty
            && text.unicodeScalars.allSatisfy {
                $0.value > 32 && $0 != "\"" && $0 != "=" && $0 != "\\" && $0.value != 127
            }
        return isPlain ? text : self.quoted(text)
    }

    /// The text as a JSON string, which is also how logfmt quotes.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            case _ where scalar.value < 32 || scalar.value == 127:
                quoted +=
                    "\\u" + String(repeating: "0", count: scalar.value < 16 ? 3 : 2) + String(scalar.value, radix: 16)
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

/// Writes log lines to standard error.
struct LogLineHandler: LogHandler {
    let format: LogFormat
    var logLevel = Logger.Level.info
    var metadata = Logger.Metadata()

    init(format: LogFormat = .logfmt) { self.format = format }

    /// Held while a line is written, so lines do not mix.
    private static let output = Mutex(FileHandle.standardError)

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var metadata = self.metadata.merging(event.metadata ?? [:]) { $1 }.mapValues { "\($0)" }
        if let error = event.error { metadata["error"] = "\(error)" }
        let line = LogLine.text(
            at: .now, event.level, "\(event.message)", metadata, source: event.source, as: self.format)
        let priority = JournalPriority.isUsed ? JournalPriority.prefix(event.level) : ""
        // Failing to write the log, because the disk is full for example, must not stop the gateway.
        Self.output.withLock { try? $0.write(contentsOf: Data((priority + line + "\n").utf8)) }
    }
}
