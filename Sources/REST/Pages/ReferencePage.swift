// Serves the reference of the interfaces at /docs. It needs no token, because the interfaces are not secret.

internal import HTTPTypes
internal import Hummingbird
internal import WebAssets

extension Pages {
    /// Without inline styles, unlike the pages with a map.
    private static let referencePolicy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; "
        + "form-action 'none'; frame-ancestors 'none'"

    /// The page with the built-in template. Each is rendered once.
    private static let builtIn = Self.builtInReference(at: "/docs")
    private static let builtInWithSlash = Self.builtInReference(at: "/docs/")

    private static func builtInReference(at path: String) -> PageFiles.File {
        guard let template = PageFiles(folder: nil)["docs.html"] else { preconditionFailure("docs.html is built in") }
        return Self.rendered(template, at: path)
    }

    private static func rendered(_ template: PageFiles.File, at path: String) -> PageFiles.File {
        var page = PageTemplate(template.bytes)
        page.fill("contents", with: APIReference.parts.contents)
        page.fill("reference", with: APIReference.parts.reference)
        page.makeAddressesRelative(to: path)
        return PageFiles.File(lasting: page.bytes, mediaType: template.mediaType)
    }

    /// Returns the page, or 304 if the client already has it. It may be compressed, because it contains no personal
    /// data.
    func reference(_ request: Request) -> Response {
        let path = request.uri.path
        var page = path.hasSuffix("/") ? Self.builtInWithSlash : Self.builtIn
        // A deployment's own template may change at any time.
        if let template = self.files["docs.html"], template.tag == nil { page = Self.rendered(template, at: path) }
        var response = Self.response(page, request)
        response.headers[.contentSecurityPolicy] = Self.referencePolicy
        return response
    }
}
