// What every route knows of the request it answers: from where, and under which trace.

package import HTTPTypes
package import Hummingbird
internal import Logging
package import NIOCore
internal import Telemetry

/// What a route knows of a request's connection, and of the request as a whole.
package struct GatewayRequestContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    package let channel: any Channel
    package var peer: SocketAddress? { self.channel.remoteAddress }
    package private(set) var trace: RequestTrace?

    package init(source: ApplicationRequestContextSource) {
        self.coreContext = .init(source: source)
        self.channel = source.channel
    }

    /// From here on log lines name the trace.
    package mutating func begin(_ trace: RequestTrace) {
        self.trace = trace
        self.logger[metadataKey: LogKey.trace] = "\(trace.traceID)"
    }

    /// The request is answered.
    package func end(_ response: inout Response) {
        if let trace { response.headers[.traceresponse] = trace.traceresponse }
        let level: Logger.Level = response.status.kind == .serverError ? .debug : .trace
        self.logger.log(level: level, "answered", metadata: [LogKey.status: "\(response.status.code)"])
    }
}

extension HTTPField.Name {
    package static let traceparent = HTTPField.Name("traceparent")!
    package static let traceresponse = HTTPField.Name("traceresponse")!
}
