// The messages that systemd accepts from a service: lines of NAME=value, as sd_notify(3) defines them. Enroute encodes
// them itself: the protocol is a single datagram, and libsystemd would be another library on every machine.

/// One line of a notification. A value.
enum ServiceMessage: Hashable, Sendable {
    /// The start, or a reload, has finished.
    case ready
    /// - Parameter monotonicMicroseconds: CLOCK_MONOTONIC before the reload started.
    case reloading(monotonicMicroseconds: UInt64)
    case stopping
    /// The text that `systemctl status` shows.
    case status(String)
    /// The service works, so the watchdog's timer starts again.
    case watchdog
    /// Allows the start or the stop this much more time from now on, whatever the unit's limit is.
    case extendTimeout(microseconds: UInt64)

    /// Longest status in bytes; a longer one is truncated. systemd reads at most 4 KiB of a datagram.
    static let maxStatusBytes = 512

    var line: String {
        switch self {
        case .ready: "READY=1"
        case .reloading(let time): "RELOADING=1\nMONOTONIC_USEC=\(time)"
        case .stopping: "STOPPING=1"
        case .status(let text): "STATUS=\(Self.plain(text))"
        case .watchdog: "WATCHDOG=1"
        case .extendTimeout(let time): "EXTEND_TIMEOUT_USEC=\(time)"
        }
    }

    /// The text of one datagram.
    static func datagram(_ messages: [ServiceMessage]) -> String { messages.map(\.line).joined(separator: "\n") }

    /// A single line, because a status with a line break could contain another message.
    private static func plain(_ text: String) -> String {
        var (line, bytes) = ("", 0)
        for character in text {
            let isControl = character.unicodeScalars.contains { $0.value < 32 || $0.value == 127 }
            let next: Character = isControl ? " " : character
            bytes += next.utf8.count
            guard bytes <= Self.maxStatusBytes else { break }
            line.append(next)
        }
        return line
    }
}
