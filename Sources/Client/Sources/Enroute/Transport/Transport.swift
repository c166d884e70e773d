// The network behind a protocol: `URLSessionTransport` here, `NIOTransport` in EnrouteNIO, `FakeGateway` in
// EnrouteTesting.

public import Foundation

/// Opens WebSockets and sends HTTP requests.
public protocol Transport: Sendable {
    /// Opens a WebSocket. Throws if the gateway does not accept the upgrade.
    func connect(to url: URL, subprotocol: String) async throws -> any TransportSocket

    /// Sends an HTTP request and returns the whole response, whatever its status.
    func send(_ request: TransportRequest) async throws -> TransportResponse
}

/// An open WebSocket. The client calls `receive` from one task and `send` from one other.
public protocol TransportSocket: Sendable {
    /// Returns the next message or the end. Throws if the connection ended without a close frame.
    func receive() async throws -> SocketEvent

    /// Returns when the socket has accepted the text.
    func send(_ text: String) async throws

    /// Closes the socket without waiting for the gateway.
    func close(code: UInt16) async
}

/// An event of a WebSocket.
public enum SocketEvent: Hashable, Sendable {
    case text(String)
    case closed(code: UInt16, reason: String)
}

/// An HTTP request.
public struct TransportRequest: Hashable, Sendable {
    public var method: String
    public var url: URL
    public var headers: [String: String]
    public var body: Data?

    public init(method: String, url: URL, headers: [String: String] = [:], body: Data? = nil) {
        (self.method, self.url, self.headers, self.body) = (method, url, headers, body)
    }
}

/// The response to an HTTP request.
public struct TransportResponse: Hashable, Sendable {
    public var status: Int
    /// With names in lower case.
    public var headers: [String: String]
    public var body: Data

    public init(status: Int, headers: [String: String] = [:], body: Data = Data()) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }
}

/// The reason why a connection could not be opened, as a sentence for developers.
public struct TransportError: Error, CustomStringConvertible, Sendable {
    public let description: String

    public init(_ description: String) { self.description = description }
}
