// What a person reads who asks for a page and can not have it: a page too, in the person's language, which says what is the
// matter and what to do. Programs get a problem document in its place.

internal import EnrouteWire
internal import HTTPTypes
package import HTTPValues
package import Hummingbird
internal import NIOCore
internal import WebAssets

/// Why there is no page.
enum PageNotice: CaseIterable, Sendable {
    /// Not there, over, or somebody else's: nobody is told which.
    case notFound
    /// Who asks is not signed in any more.
    case signedOut
    case tooMany
    case unavailable

    struct Words: Sendable {
        let headline: String
        let detail: String
    }

    /// - Returns: `nil` for what is no matter for people.
    init?(status: Int) {
        switch status {
        case 404: self = .notFound
        case 401: self = .signedOut
        case 429: self = .tooMany
        case 503: self = .unavailable
        default: return nil
        }
    }

    /// In German for German readers, in English for all others.
    func words(_ language: String) -> Words {
        let isGerman = language.lowercased().hasPrefix("de")
        return switch (self, isGerman) {
        case (.notFound, false):
            Words(
                headline: "There is nothing to see here",
                detail: "The link may be over, or was never one. Open it again from your message, or sign in.")
        case (.notFound, true):
            Words(
                headline: "Hier ist nichts zu sehen",
                detail: "Der Link ist vielleicht abgelaufen oder war nie einer. Öffnen Sie ihn noch einmal aus Ihrer "
                    + "Nachricht, oder melden Sie sich an.")
        case (.signedOut, false):
            Words(headline: "Please sign in again", detail: "You were signed in for a limited time, which is over.")
        case (.signedOut, true):
            Words(
                headline: "Bitte melden Sie sich wieder an",
                detail: "Sie waren für eine begrenzte Zeit angemeldet, und diese ist vorbei.")
        case (.tooMany, false):
            Words(headline: "Too many requests", detail: "Wait a moment, then load this page again.")
        case (.tooMany, true):
            Words(headline: "Zu viele Anfragen", detail: "Warten Sie einen Moment und laden Sie diese Seite neu.")
        case (.unavailable, false):
            Words(
                headline: "We can not tell at the moment",
                detail: "Something on our side does not answer. Nothing is lost: load this page again in a moment.")
        case (.unavailable, true):
            Words(
                headline: "Das können wir gerade nicht sagen",
                detail:
                    "Bei uns antwortet etwas nicht. Es ist nichts verloren: Laden Sie diese Seite gleich noch einmal.")
        }
    }
}

extension Pages {
    /// The page of a problem that people may meet.
    ///
    /// - Returns: `nil` for one that they do not.
    package func notice(_ problem: Problem, _ request: Request, _ context: GatewayRequestContext) -> Response? {
        guard let notice = PageNotice(status: problem.statusCode), let file = self.files["notice.html"] else {
            return nil
        }
        let language = self.language(request)
        let words = notice.words(language.language)
        var page = self.template(file, "notice", language.language)
        page.fill("headline", with: words.headline.escaped)
        page.fill("detail", with: words.detail.escaped)
        page.add(json: problem.json(context.trace), as: "problem")
        var response = Self.answer(page.bytes, file.contentType, caching: "no-store", status: problem.status)
        response.headers[.contentLanguage] = language.language
        if let retryIn = problem.retryIn { response.headers[.retryAfter] = String((retryIn + 999) / 1000) }
        return response
    }
}

/// Whoever reads HTML and asks for something that is no part of the interfaces is answered in HTML.
struct NoticesForPeople: RouterMiddleware {
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
