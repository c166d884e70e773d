// The transport on Apple platforms: URLSession, which uses the system's proxies, certificates and power management. On
// Linux, URLSession uses libcurl; servers should use NIOTransport (README.md lists where each was tested).

public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// WebSockets and HTTP with URLSession.
public struct URLSessionTransport: Transport {
    /// The maximum size of a received message in bytes. A snapshot with 64 events is smaller than 16 KiB, and a pool is
    /// smaller than this.
    static let mostMessageBytes = 8 << 20

    private let session: URLSession

    /// - Parameter configuration: proxies, certificates and timeouts. Redirects are not followed.
    public init(configuration: URLSessionConfiguration = .ephemeral) {
        self.session = URLSession(configuration: configuration, delegate: NoRedirects(), delegateQueue: nil)
    }

    public func connect(to url: URL, subprotocol: String) async throws -> any TransportSocket {
        let task = self.session.webSocketTask(with: url, protocols: [subprotocol])
        task.maximumMessageSize = Self.mostMessageBytes
        task.resume()
        return URLSessionSocket(task: task)
    }

    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        var asked = URLRequest(url: request.url)
        asked.httpMethod = request.method
        asked.httpBody = request.body
        for (name, value) in request.headers { asked.setValue(value, forHTTPHeaderField: name) }
        let (data, response) = try await self.session.data(for: asked)
        guard let answer = response as? HTTPURLResponse else { throw TransportError("The response is not HTTP.") }
        var headers: [String: String] = [:]
        for (name, value) in answer.allHeaderFields { headers["\(name)".lowercased()] = "\(value)" }
        return TransportResponse(status: answer.statusCode, headers: headers, body: data)
    }
}

/// Returns redirects as responses. If a redirect were followed, a POST could become a GET, whose success says nothing
/// about the request. It is the session's delegate, because on Linux a request's delegate is not called.
private final class NoRedirects: NSObject, URLSessionTaskDelegate, Sendable {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}

private struct URLSessionSocket: TransportSocket {
    let task: URLSessionWebSocketTask

    func receive() async throws -> SocketEvent {
        do {
            switch try await self.task.receive() {
            case .string(let text): return .text(text)
            // The gateway sends only text. A binary message is treated as an unknown message.
            case .data: return .text("{}")
            @unknown default: return .text("{}")
            }
        } catch {
            guard self.task.closeCode != .invalid else { throw Self.explained(error) }
            let reason = self.task.closeReason.map { String(decoding: $0, as: UTF8.self) } ?? ""
            return .closed(code: UInt16(clamping: self.task.closeCode.rawValue), reason: reason)
        }
    }

    /// Explains an error. On Linux, URLSession needs a libcurl with WebSocket support; without it, every connection
    /// fails.
    private static func explained(_ error: any Error) -> any Error {
        #if canImport(FoundationNetworking)
            guard (error as? URLError)?.code == .unsupportedURL else { return error }
            return TransportError("\(error.localizedDescription). Use NIOTransport of EnrouteNIO on Linux.")
        #else
            return error
        #endif
    }

    func send(_ text: String) async throws { try await self.task.send(.string(text)) }

    func close(code: UInt16) async {
        self.task.cancel(with: URLSessionWebSocketTask.CloseCode(rawValue: Int(code)) ?? .normalClosure, reason: nil)
    }
}
