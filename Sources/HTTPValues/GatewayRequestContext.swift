// The context that every route receives with a request: its connection, its trace and a logger.

package import HTTPTypes
package import Hummingbird
internal import Logging
package import NIOCore
internal import Telemetry

/// The context of one request.
package struct GatewayRequestContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    package let channel: any Channel
    /// The client: the peer of the socket, or the client that a balancer names with the PROXY protocol.
    package var peer: SocketAddress?
    package private(set) var trace: RequestTrace?
    /// The rate limit that applied to the request.
    package let allowance = RequestAllowance()
    /// When the request was complete, ms since the epoch.
    package let receivedAt = WallClock.nowMilliseconds

    package init(source: ApplicationRequestContextSource) {
        self.coreContext = .init(source: source)
        self.channel = source.channel
        self.peer = source.channel.remoteAddress
    }

    /// Sets the trace of the request. Log messages contain it from then on.
    package mutating func setTrace(_ trace: RequestTrace) {
        self.trace = trace
        self.logger[metadataKey: LogKey.trace] = "\(trace.traceID)"
    }

    /// Adds the trace to the response and logs its status.
    package func finish(_ response: inout Response) {
        self.allowance.current?.add(to: &response.headers)
        if let trace { response.headers[.traceresponse] = trace.traceresponse }
        let level: Logger.Level = response.status.kind == .serverError ? .debug : .trace
        self.logger.log(level: level, "answered", metadata: [LogKey.status: "\(response.status.code)"])
    }
}

extension HTTPField.Name {
    package static let traceparent = HTTPField.Name("traceparent")!
    package static let traceresponse = HTTPField.Name("traceresponse")!
}
