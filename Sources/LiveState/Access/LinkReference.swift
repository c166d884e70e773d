// How a person names a tracking link. The id and the secret have the same form, so only Redis can tell which of them
// the text is.

package import NIOCore

/// A tracking link, named by its id, by its secret or by the URL of its page.
package struct LinkReference: Sendable, Hashable, CustomStringConvertible {
    /// The ids that the link may have, the most likely first. The first one may be a secret instead.
    let candidates: [String]

    /// The accepted forms, for messages: "The link must be …".
    package static let forms =
        "its id or its secret, \(TrackingLinks.length) hexadecimal digits in lower case, or the URL of its page with the "
        + "secret after #"

    /// - Returns: `nil` if the text is neither an id, nor a secret, nor a URL that ends with `#` and a secret.
    package init?(_ text: String) {
        guard let mark = text.lastIndex(of: "#") else {
            guard let id = TrackingLinks.id(of: text) else { return nil }
            self.candidates = [text, id]
            return
        }
        guard let id = TrackingLinks.id(of: String(text[text.index(after: mark)...])) else { return nil }
        self.candidates = [id]
    }

    /// Does not contain the text, which may be a secret.
    package var description: String { "a tracking link" }
}

extension TrackingLinks {
    /// Finds the id of the link that a person named.
    ///
    /// - Returns: `nil` when there is no such link, or it has expired.
    package func find(_ reference: LinkReference) -> EventLoopFuture<String?> { self.find(reference.candidates[...]) }

    private func find(_ candidates: ArraySlice<String>) -> EventLoopFuture<String?> {
        guard let id = candidates.first else { return self.eventLoop.makeSucceededFuture(nil) }
        return self.read(id).flatMap { content in
            guard content == nil else { return self.eventLoop.makeSucceededFuture(id) }
            return self.find(candidates.dropFirst())
        }
    }
}
