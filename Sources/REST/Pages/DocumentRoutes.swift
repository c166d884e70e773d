// Serves the descriptions of the interfaces: OpenAPI for REST and AsyncAPI for the WebSocket protocol.

internal import HTTPTypes
package import HTTPValues
package import Hummingbird
internal import NIOCore
internal import WebAssets

extension InterfaceDocument {
    /// Adds the routes. They require no token, because the interfaces are not secret.
    package static func add(to router: Router<GatewayRequestContext>) {
        router.get("openapi.json") { request, _ in Self.openAPI.response(request) }
        router.get("asyncapi.json") { request, _ in Self.asyncAPI.response(request) }
    }

    /// Returns the document, or 304 if the client has it already.
    private func response(_ request: Request) -> Response {
        let headers: HTTPFields = [.cacheControl: "max-age=300", .eTag: "\(self.tag)"]
        guard !self.tag.matches(ifNoneMatch: request.headers[values: .ifNoneMatch].joined(separator: ",")) else {
            return Response(status: .notModified, headers: headers)
        }
        var response = Response(
            status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: self.json)))
        response.headers[.contentType] = "application/json"
        return response
    }
}
