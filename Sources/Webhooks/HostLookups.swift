// Looks up hosts on its own threads: getaddrinfo(3) blocks its thread, for many seconds if a name server does not
// respond. A host is looked up once for all callers that wait for it, so one host occupies one thread.

internal import NIOPosix
internal import Synchronization

/// Bounded lookups. Thread-safe.
package final class HostLookups: Sendable {
    /// Number of hosts that are looked up at the same time.
    package static let threads = 8
    /// Maximum number of hosts that are being looked up or queued; further ones fail immediately.
    package static let maxHosts = 200

    /// Too many hosts are being looked up.
    package struct Overloaded: Error {}

    private typealias Waiter = CheckedContinuation<[IPAddress], any Error>

    private struct State {
        var waiters: [String: [Int: Waiter]] = [:]
        var last = 0
    }

    private let state = Mutex(State())
    private let pool: NIOThreadPool
    private let lookUp: @Sendable (String) throws -> [IPAddress]

    /// Uses getaddrinfo(3), for the whole process.
    package static let system = HostLookups { try HostResolver.systemAddresses(of: $0) }

    /// - Parameter lookUp: blocks until it knows all addresses of a host.
    package init(_ lookUp: @escaping @Sendable (String) throws -> [IPAddress]) {
        self.lookUp = lookUp
        self.pool = NIOThreadPool(numberOfThreads: Self.threads)
        self.pool.start()
    }

    /// The addresses of a host. A cancelled caller stops waiting; the lookup continues for others.
    package func addresses(of host: String) async throws -> [IPAddress] {
        let number = self.state.withLock { state in
            state.last += 1
            return state.last
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                self.add(waiter, number, host)
                // It may have been cancelled before it was added.
                if Task.isCancelled { self.cancel(number, host) }
            }
        } onCancel: {
            self.cancel(number, host)
        }
    }

    private func add(_ waiter: Waiter, _ number: Int, _ host: String) {
        enum Step { case wait, lookUp, refuse }
        let step = self.state.withLock { state -> Step in
            if state.waiters[host] != nil {
                state.waiters[host]?[number] = waiter
                return .wait
            }
            guard state.waiters.count < Self.maxHosts else { return .refuse }
            state.waiters[host] = [number: waiter]
            return .lookUp
        }
        switch step {
        case .wait: break
        case .refuse: waiter.resume(throwing: Overloaded())
        case .lookUp:
            self.pool.submit { _ in
                let result = Result { try self.lookUp(host) }
                let waiters = self.state.withLock { $0.waiters.removeValue(forKey: host) } ?? [:]
                for waiter in waiters.values { waiter.resume(with: result) }
            }
        }
    }

    private func cancel(_ number: Int, _ host: String) {
        self.state.withLock { $0.waiters[host]?.removeValue(forKey: number) }?.resume(throwing: CancellationError())
    }

    /// Stops the threads after their current lookups.
    package func shutdown() async throws { try await self.pool.shutdownGracefully() }
}
