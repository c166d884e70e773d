// Connections to a service that several requests use. If its host has several addresses, requests go to the first one that
// accepts a connection, and to the others only when it no longer does.

internal import AsyncHTTPClient
internal import NIOCore
internal import NetworkErrors
internal import Resilience
internal import Synchronization

/// Reusable connections, opened on first use, so a process that only validates its configuration (`enroute check`) has
/// nothing to close. Call `shutdown` when done. Because two gateways of one process may share these connections, a
/// later request opens new ones; they are closed when nobody refers to this object any longer.
package final class OutboundConnections: Sendable {
    private struct Opened {
        /// One for each address.
        var clients: [HTTPClient] = []
        /// The client of the next request.
        var current = 0
    }

    private let http: OutboundHTTP
    private let opened = Mutex(Opened())
    /// How long to read the rest of a response when only its status matters.
    private static let longestRest = Duration.seconds(1)

    package init(_ http: OutboundHTTP) { self.http = http }

    deinit {
        let clients = self.opened.withLock { $0.clients }
        guard !clients.isEmpty else { return }
        Task { await Self.shutDown(clients) }
    }

    /// - Parameter longestWait: `nil` for the default.
    package func send(
        _ request: OutboundRequest, within longestWait: Duration? = nil
    ) async throws(OutboundFailure) -> OutboundResponse {
        try await OutboundHTTP.limited(to: longestWait ?? self.http.longestWait) {
            let head = try await self.head(of: request)
            let body: ByteBuffer
            do {
                body = try await head.body.collect(upTo: self.http.longestAnswer)
            } catch is NIOTooManyBytesError {
                throw OutboundFailure.tooLong(status: head.status)
            }
            return OutboundResponse(
                status: head.status,
                headers: Dictionary(head.headers.map { ($0.name.lowercased(), $0.value) }) { first, _ in first },
                body: Array(body.readableBytesView))
        }
    }

    /// Like `send`, but returns only the status, as soon as it has arrived; the rest of the response may fail. Reuses the
    /// connection if the rest is short and arrives soon; otherwise closes it.
    package func status(
        of request: OutboundRequest, within longestWait: Duration
    ) async throws(OutboundFailure) -> Int {
        let end = ContinuousClock.now + longestWait
        let head = try await OutboundHTTP.limited(to: longestWait) { try await self.head(of: request) }
        let wait = min(Self.longestRest, end - .now)
        _ = try? await withTimeout(wait) { try await head.body.collect(upTo: self.http.longestAnswer) }
        return head.status
    }

    /// Sends a request to the first address that accepts a connection. The next request starts with that address.
    func head(of request: OutboundRequest) async throws -> OutboundHTTP.Head {
        var failures = 0
        while true {
            let (clients, current) = self.clients
            do {
                return try await OutboundHTTP.head(request, clients[current])
            } catch  where Self.isUnconnected(error) {
                self.advance(from: current)
                failures += 1
                if failures == clients.count { throw error }
            }
        }
    }

    /// Whether there was no connection on which the request could have been sent.
    private static func isUnconnected(_ error: any Error) -> Bool {
        guard let error = error as? HTTPClientError else { return ConnectFailure.isUnconnected(error) }
        return error == .connectTimeout || error == .tlsHandshakeTimeout
    }

    /// The next request uses the next address, unless another failed request has already changed it.
    private func advance(from failed: Int) {
        self.opened.withLock { opened in
            guard opened.current == failed, !opened.clients.isEmpty else { return }
            opened.current = (failed + 1) % opened.clients.count
        }
    }

    package func shutdown() async {
        let clients = self.opened.withLock { opened in
            defer { opened.clients = [] }
            return opened.clients
        }
        await Self.shutDown(clients)
    }

    private static func shutDown(_ clients: [HTTPClient]) async {
        for client in clients { try? await client.shutdown() }
    }

    private var clients: ([HTTPClient], current: Int) {
        self.opened.withLock { opened in
            if opened.clients.isEmpty { opened.clients = self.http.makeClients() }
            return (opened.clients, opened.current)
        }
    }
}
