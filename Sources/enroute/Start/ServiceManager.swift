// The connection to the service manager, systemd: where it receives notifications, and its watchdog. Without systemd the
// variables are not set, and nothing is sent. See sd_notify(3), sd_watchdog_enabled(3) and unix(7).

import Foundation
import Glibc

/// The values that systemd passes to a service in its environment.
struct ServiceManagerEnvironment: Hashable {
    /// The variables. They are meant for this process only.
    static let names = ["NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"]

    /// A path, or `@` and the name of an abstract socket; `nil` outside systemd.
    var socket: String?
    /// The watchdog's time limit in nanoseconds; `nil` if this process has no watchdog to feed.
    var watchdog: UInt64?

    /// - Parameter process: the id of this process. A watchdog of another process is not fed.
    init(_ environment: [String: String], process: Int32) {
        self.socket = environment["NOTIFY_SOCKET"].flatMap { $0.isEmpty ? nil : $0 }
        let isForThis = environment["WATCHDOG_PID"].map { $0 == "\(process)" } ?? true
        let limit = environment["WATCHDOG_USEC"].flatMap(UInt64.init) ?? 0
        if self.socket != nil, isForThis, limit > 0 {
            self.watchdog = limit.multipliedReportingOverflow(by: 1000).overflow ? nil : limit * 1000
        }
    }

    /// Reads the variables and removes them, so that child processes cannot notify in this one's name. Call it before the
    /// process starts threads that read the environment.
    static func take() -> ServiceManagerEnvironment {
        let environment = ServiceManagerEnvironment(ProcessInfo.processInfo.environment, process: getpid())
        for name in Self.names { unsetenv(name) }
        return environment
    }
}

/// A socket that sends datagrams to the service manager. Thread-safe.
final class ServiceManagerSocket: Sendable {
    /// Why a notification was not sent.
    struct Failure: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
        fileprivate init(_ what: String, code: Int32) { self.init("\(what): \(String(cString: strerror(code)))") }
    }

    private let descriptor: Int32
    private let name: [UInt8]

    /// A service manager that does not read delays the sender by at most this time.
    private static let sendTimeoutSeconds = 1

    /// - Parameter name: a path, or `@` and the name of an abstract socket.
    init(_ name: String) throws(Failure) {
        guard name.hasPrefix("/") || name.hasPrefix("@") else {
            throw Failure("NOTIFY_SOCKET is \(name); only unix sockets are supported")
        }
        var bytes = Array(name.utf8)
        // The first byte of an abstract name is 0. A path ends with one.
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 } else { bytes.append(0) }
        guard bytes.count <= MemoryLayout.size(ofValue: sockaddr_un().sun_path) else {
            throw Failure("NOTIFY_SOCKET is longer than the address of a unix socket can be")
        }
        self.name = bytes
        self.descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard self.descriptor >= 0 else { throw Failure("no socket", code: errno) }
        var limit = timeval(tv_sec: Self.sendTimeoutSeconds, tv_usec: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(self.descriptor) }

    /// Sends one datagram. May block for a second.
    func send(_ text: String) throws(Failure) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: self.name) }
        // The length tells where an abstract name ends.
        let length = MemoryLayout<sockaddr_un>.offset(of: \sockaddr_un.sun_path)! + self.name.count
        let bytes = Array(text.utf8)
        let sent = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(self.descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, socklen_t(length))
            }
        }
        guard sent == bytes.count else { throw Failure("systemd does not receive notifications", code: errno) }
    }
}
