// Workarounds for valgrind 3.19 of Debian 12. It cannot read the DWARF 5 that Swift writes, so the gateway runs without
// debug information; function names remain. It also crashes in `sigsuspend`, because it writes to the caller's mask,
// which libdispatch stores in read-only memory. Therefore a `sigsuspend` that copies the mask is preloaded.

import Foundation

enum Valgrind {
    /// - Returns: the path of a library to preload.
    static func sigsuspend(in folder: String) throws -> String {
        let source = """
            #define _GNU_SOURCE
            #include <signal.h>
            #include <sys/syscall.h>
            #include <unistd.h>
            int sigsuspend(const sigset_t *mask) {
                sigset_t copy = *mask;
                return syscall(SYS_rt_sigsuspend, &copy, _NSIG / 8);
            }

            """
        try Data(source.utf8).write(to: URL(fileURLWithPath: "\(folder)/sigsuspend.c"))
        let library = "\(folder)/sigsuspend.so"
        try Program.run(["clang", "-shared", "-fPIC", "-o", library, "\(folder)/sigsuspend.c"], in: folder)
        return library
    }
}

enum FreePort {
    /// A port that was just free.
    static func find() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in(loopbackPort: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isBound else { throw BenchFailure("No free port on 127.0.0.1.") }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}

extension sockaddr_in {
    /// 127.0.0.1.
    init(loopbackPort port: Int) {
        self.init()
        self.sin_family = sa_family_t(AF_INET)
        self.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        self.sin_port = UInt16(port).bigEndian
    }
}
