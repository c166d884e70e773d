// Where the gateway is, how to sign in, and the addresses that follow from it.

public import Foundation

extension EnrouteClient {
    /// Where the gateway is, and how to sign in.
    public struct Configuration: Sendable {
        /// `https://track.example`; a path prefix is part of it.
        public var gateway: URL
        /// The default is URLSession, which has no WebSocket on most Linux systems. Use `NIOTransport` of EnrouteNIO there.
        public var transport: any Transport
        /// Called before each connection and request, and before a token expires. If it returns `nil`, nobody is signed
        /// in, and the connection is refused. If it throws or does not return within 15 s, the client tries again
        /// later.
        public var credential: @Sendable () async throws -> Credential?
        /// The name of this device, 1 to 64 of `[A-Za-z0-9_-]`. If a rider has several devices, the one that last
        /// started travel mode reports. Keep the name across launches, so that the device can resume. The default is a
        /// new name.
        public var device = UUID().uuidString
        /// The highest plausible speed in m/s. Positions that imply a higher one are not shown. Raise it for trips that
        /// are replayed faster than recorded.
        public var fastest: Double

        public init(
            gateway: URL, transport: any Transport = URLSessionTransport(), fastest: Double = 60,
            credential: @escaping @Sendable () async throws -> Credential?
        ) {
            (self.gateway, self.transport, self.fastest) = (gateway, transport, fastest)
            self.credential = credential
        }
    }
}

extension EnrouteClient.Configuration {
    /// The address of the WebSocket: `wss://host/prefix/v1`.
    var socketURL: URL {
        var parts = self.parts
        parts.scheme = parts.scheme == "http" || parts.scheme == "ws" ? "ws" : "wss"
        return parts.url?.appendingPathComponent("v1") ?? self.gateway
    }

    func restURL(_ path: String) -> URL {
        var parts = self.parts
        parts.scheme = parts.scheme == "http" || parts.scheme == "ws" ? "http" : "https"
        // The path may contain a query, which appending a component would escape.
        return URL(string: (parts.string ?? "") + "/api/v1" + path) ?? self.gateway
    }

    /// The address without a slash at its end, and without query and fragment.
    private var parts: URLComponents {
        var parts = URLComponents(url: self.gateway, resolvingAgainstBaseURL: false) ?? URLComponents()
        while parts.path.hasSuffix("/") { parts.path.removeLast() }
        (parts.query, parts.fragment) = (nil, nil)
        return parts
    }

    /// Requests a credential from the app. A function that hangs must not stop the client.
    ///
    /// - Parameter timebase: the client's clocks.
    func fetchCredential(_ timebase: Timebase) async throws -> Credential? {
        try await timebase.wait(
            atMost: ConnectionMachine.connectWithin, late: TransportError(ConnectionMachine.credentialLate),
            for: self.credential)
    }
}
