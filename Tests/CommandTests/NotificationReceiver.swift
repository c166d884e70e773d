import Foundation
import Glibc

/// The socket of a service manager: receives the notifications of a service, one datagram each.
final class NotificationReceiver: @unchecked Sendable {
    private let descriptor: Int32
    /// The value for NOTIFY_SOCKET.
    let name: String

    struct Failed: Error {
        let what: String
        let code = errno
    }

    /// - Parameter isAbstract: the socket has a name outside the file system.
    init(folder: String, isAbstract: Bool) throws {
        self.name = isAbstract ? "@enroute-\(UUID())" : "\(folder)/notify"
        self.descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = isAbstract ? [0] + Array(self.name.utf8.dropFirst()) : Array(self.name.utf8) + [0]
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.offset(of: \sockaddr_un.sun_path)! + bytes.count)
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(self.descriptor, $0, length) }
        }
        guard bound == 0 else { throw Failed(what: "bind \(self.name)") }
    }

    deinit { close(self.descriptor) }

    /// Waits for the next datagram; `nil` if none arrives in time. Blocks its thread.
    func next(within milliseconds: Int32 = 30_000) -> String? {
        var state = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&state, 1, milliseconds) == 1 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(self.descriptor, &bytes, bytes.count, 0)
        return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    /// Waits for a datagram that is more than a keep-alive ping of the watchdog.
    func nextChange() throws -> String {
        while let text = self.next() {
            if text != "WATCHDOG=1" { return text }
        }
        throw Failed(what: "no notification arrived")
    }
}
