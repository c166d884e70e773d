// Serves the reference of the interfaces at /docs. It needs no token, because the interfaces are not secret.

internal import HTTPTypes
internal import Hummingbird
internal import WebAssets

extension Pages {
    /// Without inline styles, unlike the pages with a map.
    private static let referencePolicy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; "
        + "form-action 'none'; frame-ancestors 'none'"

    /// The page with the built-in template, rendered once.
    private static let builtInReference = PageFiles(folder: nil)["docs.html"].map(Self.rendered)

    private static func rendered(_ template: PageFiles.File) -> PageFiles.File {
        var page = PageTemplate(template.bytes)
        page.fill("contents", with: APIReference.parts.contents)
        page.fill("reference", with: APIReference.parts.reference)
        return PageFiles.File(lasting: page.bytes, mediaType: template.mediaType)
    }

    /// Returns the page, or 304 if the client has it already. It is compressed: it contains nothing about anybody.
    func reference(_ request: Request) -> Response {
        guard let template = self.files["docs.html"], let builtIn = Self.builtInReference else {
            preconditionFailure("docs.html is built in")
        }
        // A deployment's own template may change at any time.
        var response = Self.response(template.tag == nil ? Self.rendered(template) : builtIn, request)
        response.headers[.contentSecurityPolicy] = Self.referencePolicy
        return response
    }
}
