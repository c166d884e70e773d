// Where programs read what the two interfaces look like.

internal import HTTPTypes
package import HTTPValues
package import Hummingbird
internal import NIOCore
internal import WebAssets

extension InterfaceDocument {
    /// For everybody: what may be asked is no secret.
    package static func add(to router: Router<GatewayRequestContext>) {
        router.get("openapi.json") { request, _ in Self.openAPI.answer(request) }
        router.get("asyncapi.json") { request, _ in Self.asyncAPI.answer(request) }
    }

    /// The document, or word that the caller has it.
    private func answer(_ request: Request) -> Response {
        let headers: HTTPFields = [.cacheControl: "max-age=300", .eTag: "\(self.tag)"]
        guard !self.tag.isNamed(by: request.headers[values: .ifNoneMatch].joined(separator: ",")) else {
            return Response(status: .notModified, headers: headers)
        }
        var response = Response(
            status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: self.json)))
        response.headers[.contentType] = "application/json"
        return response
    }
}
