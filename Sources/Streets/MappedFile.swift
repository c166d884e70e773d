// A file that the kernel maps into memory: pages are read when they are first used, and processes share them.

#if canImport(Glibc)
    private import Glibc
#else
    private import Darwin
#endif

/// The bytes of a file. The file must not be changed in place while it is mapped: replace it with a new file of the same name.
final class MappedFile: Sendable {
    nonisolated(unsafe) let bytes: UnsafeRawBufferPointer

    struct Failure: Error {
        let reason: String
    }

    init(path: String) throws(Failure) {
        // Without O_NONBLOCK, opening a named pipe would block.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Failure(reason: String(cString: strerror(errno))) }
        defer { close(descriptor) }
        var info = stat()
        guard fstat(descriptor, &info) == 0 else { throw Failure(reason: String(cString: strerror(errno))) }
        guard info.st_mode & S_IFMT == S_IFREG else { throw Failure(reason: "it is not a regular file") }
        let count = Int(info.st_size)
        guard count > 0 else {
            self.bytes = UnsafeRawBufferPointer(start: nil, count: 0)
            return
        }
        guard let start = mmap(nil, count, PROT_READ, MAP_PRIVATE, descriptor, 0), start != MAP_FAILED else {
            throw Failure(reason: String(cString: strerror(errno)))
        }
        self.bytes = UnsafeRawBufferPointer(start: start, count: count)
    }

    deinit {
        guard let start = self.bytes.baseAddress else { return }
        munmap(UnsafeMutableRawPointer(mutating: start), self.bytes.count)
    }
}
