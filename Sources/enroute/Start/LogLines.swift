// How a line of the log looks: logfmt, which people read and log collectors parse. Times are UTC with milliseconds; a value that
// holds more than a word stands in quotes, with whatever could break a line escaped, so that nobody can write a line of their own.

import Foundation
import Logging
import Synchronization

/// One line. A value.
enum LogLine {
    static func text(
        at time: Date, _ level: Logger.Level, _ message: String, _ metadata: [String: String], source: String
    ) -> String {
        let fields =
            [("time", Self.time(time)), ("level", level.rawValue), ("msg", Self.value(message))]
            + metadata.sorted { $0.key < $1.key }.map { (Self.key($0.key), Self.value($0.value)) }
            + [("source", Self.value(source))]
        return fields.map { "\($0.0)=\($0.1)" }.joined(separator: " ")
    }

    private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    static func time(_ time: Date) -> String { time.formatted(Self.style) }

    private static func key(_ text: String) -> String {
        String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) ? $0 : "_" })
    }

    /// As it is where it is one word, else in quotes.
    static func value(_ text: String) -> String {
        let isWord =
            !text.isEmpty
            && text.unicodeScalars.allSatisfy {
                $0.value > 32 && $0 != "\"" && $0 != "=" && $0 != "\\" && $0.value != 127
            }
        guard !isWord else { return text }
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

/// Writes lines to standard error.
struct LogLineHandler: LogHandler {
    var logLevel = Logger.Level.info
    var metadata = Logger.Metadata()

    /// One line at a time, whole.
    private static let output = Mutex(FileHandle.standardError)

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var metadata = self.metadata.merging(event.metadata ?? [:]) { $1 }.mapValues { "\($0)" }
        if let error = event.error { metadata["error"] = "\(error)" }
        let line = LogLine.text(at: .now, event.level, "\(event.message)", metadata, source: event.source)
        // A log that cannot be written, to a full disk for example, must not end the gateway.
        Self.output.withLock { try? $0.write(contentsOf: Data((line + "\n").utf8)) }
    }
}
