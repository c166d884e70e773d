// Turns the response to a request into an event stream.

internal import NIOCore
internal import NIOHTTP1

extension HTTPExchange {
    /// Whether a body of unknown length is sent with chunked transfer coding.
    var isChunked: Bool { self.version != .http1_0 }

    /// Turns the response into a stream that a session writes. Bytes from the client are read and discarded, and the stream
    /// ends when the client closes its side.
    ///
    /// - Throws: `ChannelError.inputClosed` if the client has closed its side; a session added now would not be notified.
    func switchToStream() throws {
        guard !self.feed.isInputClosed else { throw ChannelError.inputClosed }
        self.stallHandler.stop()
        self.feed.discard()
    }
}
