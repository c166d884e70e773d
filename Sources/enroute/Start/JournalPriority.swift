// The severity of a log line for systemd's journal: a prefix such as <4>, which journald removes (sd-daemon(3)). With
// it, `journalctl --priority=warning` selects lines by level. Lines that do not go to the journal have no prefix.

import Foundation
import Logging

/// Priorities of syslog(3).
enum JournalPriority {
    static func prefix(_ level: Logger.Level) -> String {
        switch level {
        case .trace, .debug: "<7>"
        case .info: "<6>"
        case .notice: "<5>"
        case .warning: "<4>"
        case .error: "<3>"
        case .critical: "<2>"
        }
    }

    /// Whether standard error is connected to the journal.
    static let isUsed: Bool = {
        let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/2")
        return Self.names(ProcessInfo.processInfo.environment["JOURNAL_STREAM"], file: file)
    }()

    /// Whether JOURNAL_STREAM, which contains the device and the inode of the journal's stream (systemd.exec(5)),
    /// refers to this file. A process whose output is redirected inherits the variable too, but its output is another
    /// file.
    ///
    /// - Parameter file: as proc(5) names an open socket: `socket:[inode]`.
    static func names(_ stream: String?, file: String?) -> Bool {
        guard let parts = stream?.split(separator: ":"), parts.count == 2 else { return false }
        return file == "socket:[\(parts[1])]"
    }
}
