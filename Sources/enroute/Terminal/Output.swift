// What commands say to people, written with the system call itself: a FileHandle ends the process when the disk behind it
// is full, and a gateway would end with it. What could not be written decides the exit code instead.

import Foundation
import Synchronization

/// Standard output and standard error.
enum Output {
    private static let isLost = Atomic(false)

    /// Something could not be written to standard output.
    static var hasLostSomething: Bool { Self.isLost.load(ordering: .relaxed) }

    /// Writes to standard output. The first time that fails, standard error says so.
    static func say(_ text: String) {
        guard let reason = Self.put(text, to: STDOUT_FILENO) else { return }
        guard !Self.isLost.exchange(true, ordering: .relaxed) else { return }
        Self.complain("enroute: standard output could not be written: \(String(cString: strerror(reason))).\n")
    }

    /// Writes to standard error. Where that fails, nobody can be told.
    static func complain(_ text: String) { _ = Self.put(text, to: STDERR_FILENO) }

    /// How long a reader that is slow is waited for, ms, before the next attempt.
    private static let patience: Int32 = 1_000

    /// - Returns: the number of the error that ended it; `nil` when all was written.
    private static func put(_ text: String, to descriptor: Int32) -> Int32? {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count < 0, errno == EAGAIN {
                var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&wait, 1, Self.patience)
            } else if count == 0 || errno != EINTR {
                return count == 0 ? EIO : errno
            }
        }
        return nil
    }
}
