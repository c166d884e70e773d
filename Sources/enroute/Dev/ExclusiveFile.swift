// A file that only one process at a time can hold. The kernel releases it when the process ends, for whatever reason.

import Foundation

/// Holds a file, with flock(2), until it is deallocated.
final class ExclusiveFile: Sendable {
    private let descriptor: Int32

    /// Creates the file if it is missing, and writes a text for people who open it. Only its owner may read it.
    ///
    /// - Returns: `nil` if another process holds it.
    /// - Throws: `POSIXError` if it cannot be written.
    init?(path: String, text: String) throws {
        self.descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard self.descriptor >= 0 else { throw Self.failure }
        // If this initializer fails, `deinit` closes the file.
        guard flock(self.descriptor, LOCK_EX | LOCK_NB) == 0 else { return nil }
        let count = text.utf8.count
        guard ftruncate(self.descriptor, 0) == 0, write(self.descriptor, text, count) == count else {
            throw Self.failure
        }
    }

    private static var failure: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }

    deinit {
        if self.descriptor >= 0 { close(self.descriptor) }
    }
}
