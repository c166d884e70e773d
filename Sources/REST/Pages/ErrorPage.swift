// Error pages: someone who opens a page that cannot be shown gets a page in their language with the reason and advice.
// Programs get a problem document instead.

internal import EnrouteWire
internal import HTTPTypes
package import HTTPValues
package import Hummingbird
internal import NIOCore
internal import WebAssets

/// The reason why a page cannot be shown.
enum ErrorPage: CaseIterable, Sendable {
    /// The page does not exist, has ended, or belongs to someone else. The text does not reveal which.
    case notFound
    /// The session has expired.
    case signedOut
    case tooMany
    case unavailable

    struct Words: Sendable {
        let headline: String
        let detail: String
    }

    /// - Returns: `nil` if there is no page for the status.
    init?(status: Int) {
        switch status {
        case 404: self = .notFound
        case 401: self = .signedOut
        case 429: self = .tooMany
        case 503: self = .unavailable
        default: return nil
        }
    }

    /// Returns the texts in German for German readers, in English for all others.
    func words(_ language: String) -> Words {
        let isGerman = language.lowercased().hasPrefix("de")
        return switch (self, isGerman) {
        case (.notFound, false):
            Words(
                headline: "We can’t find this page",
                detail: "The link may be incomplete or expired. Open it again from your message, or sign in.")
        case (.notFound, true):
            Words(
                headline: "Wir finden diese Seite nicht",
                detail: "Der Link ist vielleicht unvollständig oder abgelaufen. Öffnen Sie ihn noch einmal aus Ihrer "
                    + "Nachricht, oder melden Sie sich an.")
        case (.signedOut, false):
            Words(headline: "Please sign in again", detail: "Your session has expired.")
        case (.signedOut, true):
            Words(
                headline: "Bitte melden Sie sich wieder an",
                detail: "Ihre Anmeldung ist abgelaufen.")
        case (.tooMany, false):
            Words(headline: "Too many requests", detail: "Wait a moment, then reload this page.")
        case (.tooMany, true):
            Words(headline: "Zu viele Anfragen", detail: "Warten Sie einen Moment und laden Sie diese Seite neu.")
        case (.unavailable, false):
            Words(
                headline: "We can’t show this right now",
                detail: "Part of our service isn’t responding. Nothing is lost. Reload this page in a moment.")
        case (.unavailable, true):
            Words(
                headline: "Das können wir gerade nicht anzeigen",
                detail:
                    "Ein Teil unseres Dienstes antwortet nicht. Es ist nichts verloren. Laden Sie die Seite gleich neu."
            )
        }
    }
}

extension Pages {
    /// Returns the error page for a problem.
    ///
    /// - Returns: `nil` if there is no page for the problem's status.
    package func notice(_ problem: Problem, _ request: Request, _ context: GatewayRequestContext) -> Response? {
        guard let notice = ErrorPage(status: problem.statusCode), let file = self.files["notice.html"] else {
            return nil
        }
        let language = self.language(request)
        let words = notice.words(language.language)
        var page = self.template(file, "notice", language.language, request)
        page.fill("headline", with: words.headline.escaped)
        page.fill("detail", with: words.detail.escaped)
        page.add(json: problem.json(context.trace), as: "problem")
        var response = Self.response(page.bytes, file.contentType, caching: "no-store", status: problem.status)
        response.headers[.contentLanguage] = language.language
        response.headers.append(contentsOf: problem.headers)
        if let retryIn = problem.retryIn { response.headers[.retryAfter] = String((retryIn + 999) / 1000) }
        return response
    }
}

/// Responds with an HTML page if the client accepts HTML and the path is not part of the REST interface.
struct HTMLErrorPages: RouterMiddleware {
    let pages: Pages

    func handle(
        _ request: Request, context: GatewayRequestContext,
        next: @concurrent (Request, GatewayRequestContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as any HTTPResponseError where Self.isForPeople(request) {
            guard let page = self.pages.notice(error as? Problem ?? Problem(error.status), request, context) else {
                throw error
            }
            return page
        }
    }

    private static func isForPeople(_ request: Request) -> Bool {
        [.get, .head].contains(request.method) && !request.uri.path.hasPrefix("/api/")
            && request.headers[values: .accept].contains { $0.contains("text/html") }
    }
}
