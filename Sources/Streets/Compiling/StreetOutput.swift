// Where a compiled file is written. A complete new file replaces the old one, because a gateway that has mapped the old
// one continues to use it.

internal import Foundation
#if canImport(Glibc)
    private import Glibc
#else
    private import Darwin
#endif

struct StreetOutput {
    /// The path as the caller wrote it.
    private let path: String
    /// The file to replace or to create: the target of `path` if that is a symbolic link.
    private let target: String
    /// The permissions of the file that is replaced; `nil` if no file is replaced.
    private let permissions: mode_t?

    /// The maximum number of symbolic links in a chain, as in Linux.
    private static let maxLinks = 40

    /// Checks the output before anything is read.
    ///
    /// - Throws: `unwritable` if it is an input, under whatever name, or if it exists and is not a regular file.
    init(path: String, inputs: [String]) throws(StreetInputError) {
        self.path = path
        self.target = Self.target(of: path)
        guard let info = Self.info(path) else {
            self.permissions = nil
            return
        }
        switch info.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR: throw .unwritable(path: path, reason: "it is a folder")
        default: throw .unwritable(path: path, reason: "it exists and is not a regular file")
        }
        for input in inputs {
            guard let other = Self.info(input), (other.st_dev, other.st_ino) == (info.st_dev, info.st_ino) else {
                continue
            }
            throw .unwritable(path: path, reason: "it is the input \(input). Choose another name with --output")
        }
        self.permissions = info.st_mode & 0o7777
    }

    /// Writes a temporary file beside the target and renames it. It keeps the permissions of a file that it replaces.
    func write(_ bytes: [UInt8]) throws(StreetInputError) {
        let temporary = "\(self.target).\(UUID().uuidString)"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw self.failure() }
        do throws(StreetInputError) {
            do throws(StreetInputError) {
                try self.write(bytes, to: descriptor)
            } catch {
                close(descriptor)
                throw error
            }
            guard close(descriptor) == 0, rename(temporary, self.target) == 0 else { throw self.failure() }
        } catch {
            unlink(temporary)
            throw error
        }
    }

    private func write(_ bytes: [UInt8], to descriptor: Int32) throws(StreetInputError) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                #if canImport(Glibc)
                    Glibc.write(descriptor, $0.baseAddress?.advanced(by: written), bytes.count - written)
                #else
                    Darwin.write(descriptor, $0.baseAddress?.advanced(by: written), bytes.count - written)
                #endif
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw self.failure() }
            written += count
        }
        if let permissions, fchmod(descriptor, permissions) != 0 { throw self.failure() }
        guard fsync(descriptor) == 0 else { throw self.failure() }
    }

    /// The last error of the system.
    private func failure() -> StreetInputError {
        .unwritable(path: self.path, reason: String(cString: strerror(errno)))
    }

    /// - Returns: `nil` if there is no file.
    private static func info(_ path: String) -> stat? {
        var info = stat()
        return stat(path, &info) == 0 ? info : nil
    }

    /// Follows symbolic links, even to a file that does not exist yet.
    private static func target(of path: String) -> String {
        var path = path
        for _ in 0..<self.maxLinks {
            guard let next = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { return path }
            let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
            path = next.hasPrefix("/") ? next : folder + next
        }
        return path
    }
}
