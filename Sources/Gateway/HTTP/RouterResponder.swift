// Passes requests to a router of Hummingbird.

internal import HTTPValues
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import REST

extension GatewayServer {
    /// Wraps a router as Hummingbird's own server does: creates the context of each request, and responds to uncaught errors.
    ///
    /// - Parameter counts: the request metrics to update; `nil` for the management listener.
    func responder(_ routes: some HTTPResponder<GatewayRequestContext>, _ counts: RequestCounts?) -> Responder {
        { [logger] pending, channel in
            let request = pending.request
            var context = GatewayRequestContext(
                source: ApplicationRequestContextSource(channel: channel, logger: logger))
            context.peer = pending.peer
            context.setTrace(RequestTrace(request.headers[values: .traceparent]))
            let started = NIODeadline.now()
            var response: Response
            do {
                response = try await routes.respond(to: request, context: context)
            } catch {
                response = try Problem(causedBy: error).response(from: request, context: context)
            }
            response.removeLengthOfEventStream()
            context.finish(&response)
            counts?.record(
                context.endpointPath, status: response.status.code, after: .now() - started, on: channel.eventLoop)
            try await pending.response.write(response: response.head, body: response.body)
        }
    }
}
