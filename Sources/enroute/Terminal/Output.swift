// Output of commands, written with the system call. `FileHandle` crashes the process when the disk is full, and would
// crash a gateway. Instead, a command that cannot write its result exits with another code.

import Foundation
import Synchronization

/// Standard output and standard error.
enum Output {
    private static let hasFailedFlag = Atomic(false)

    /// Whether something could not be written to standard output.
    static var hasFailed: Bool { Self.hasFailedFlag.load(ordering: .relaxed) }

    /// Writes to standard output. The first failure is reported on standard error.
    static func say(_ text: String) {
        guard let reason = Self.put(text, to: STDOUT_FILENO) else { return }
        guard !Self.hasFailedFlag.exchange(true, ordering: .relaxed) else { return }
        Self.complain("enroute: cannot write to standard output: \(String(cString: strerror(reason))).\n")
    }

    /// Writes information that is not the result of the command to standard output, without waiting for a reader. A
    /// failure does not change the exit code.
    static func announce(_ text: String, onFailure: @escaping @Sendable (_ reason: String) -> Void) {
        Thread.detachNewThread {
            guard let reason = Self.put(text, to: STDOUT_FILENO) else { return }
            onFailure(String(cString: strerror(reason)))
        }
    }

    /// Writes to standard error; in a process that logs, after the queued log lines. A failure is ignored, because
    /// there is nowhere to report it.
    static func complain(_ text: String) {
        guard LogQueue.isInUse else {
            _ = Self.put(text, to: STDERR_FILENO)
            return
        }
        LogQueue.standardError.append(text)
        LogQueue.standardError.flush()
    }

    /// Opens /dev/null as standard input, output and error if the parent closed them. Otherwise the next socket would
    /// get such a descriptor, and log lines would be sent to a peer. The replacements are opened so that reading and
    /// writing still fail.
    static func reserveClosedDescriptors() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
            // `open` uses the lowest free descriptor, which is this one.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// How long to wait for a slow reader before the next attempt, in ms.
    private static let patience: Int32 = 1_000

    /// - Returns: the error number; `nil` when everything was written.
    static func put(_ text: String, to descriptor: Int32) -> Int32? {
        var written = 0
        return Self.put(text, to: descriptor, written: &written)
    }

    /// - Parameter written: set to the number of bytes that were written, also after an error.
    /// - Returns: the error number; `nil` when everything was written.
    static func put(_ text: String, to descriptor: Int32, written: inout Int) -> Int32? {
        written = 0
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
                written += count
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
