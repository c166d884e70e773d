// Probes for load balancers and orchestrators, and the metrics, on a listener that must not be public.

internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import NIOCore
internal import REST
internal import Telemetry

/// The routes of the management listener.
struct ManagementRoutes: Sendable {
    let gatewayLoops: GatewayLoops

    func router() -> Router<GatewayRequestContext> {
        let router = Router(context: GatewayRequestContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: SecurityHeaders())
        // Checks no dependency: restarting a gateway because Redis is down would only disconnect its clients.
        router.get("livez") { _, _ in Self.text(.ok, "live") }
        router.get("readyz") { _, _ in
            let readiness = self.gatewayLoops.readiness
            return Self.text(readiness == .ready ? .ok : .serviceUnavailable, readiness.text)
        }
        // For people and alerts. The status is always 200, so that no load balancer removes a gateway because of a dependency
        // that all gateways share.
        router.get("healthz") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "application/json"],
                body: ResponseBody(
                    byteBuffer: ByteBuffer(bytes: try JSONDocument.bytes(await self.gatewayLoops.health))))
        }
        router.get("metrics") { _, _ in
            Response(
                status: .ok, headers: [.contentType: Exposition.mediaType],
                body: ResponseBody(byteBuffer: ByteBuffer(string: await self.gatewayLoops.metrics)))
        }
        return router
    }

    private static func text(_ status: HTTPResponse.Status, _ text: String) -> Response {
        Response(
            status: status, headers: [.contentType: "text/plain; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text + "\n")))
    }
}
