// Log lines about clients that were refused because of their origin or their token. Clients can cause any number of refusals,
// so the lines are rate-limited; operators need them to find a missing setting.

package import Access
internal import Logging
internal import NIOCore
internal import Telemetry
internal import TrafficControl

/// Which refusals were logged recently, on one event loop.
struct RefusalNotices {
    /// Refused origins. One line per minute for all of them, because anybody can invent origins.
    var origins = LogThrottle()
    /// Rejected tokens. One line per minute for each reason; the settings determine the claims in them.
    var tokens = KeyedLogThrottle<TokenRefusal>(maxSubjects: 64)
}

extension LoopState {
    /// A page of this origin tried to connect, or to read a response of the REST interface, and was refused. Either
    /// this is an attack, or the origin is missing in the configuration.
    package func refused(origin: String, isWebSocket: Bool = true) {
        self.counts.add(.originsRefused)
        guard let unlogged = self.notices.origins.record(at: NIODeadline.now().uptimeNanoseconds) else { return }
        self.logger.warning(
            isWebSocket ? "websocket refused: origin not allowed" : "request refused: origin not allowed",
            metadata: [
                LogKey.origin: "\(origin.prefix(AllowedOrigins.maxLoggedCharacters))", LogKey.count: "\(unlogged + 1)",
            ])
    }

    /// Logs why a token was rejected. The line contains no part of the token.
    package func log(_ refusal: TokenRefusal) {
        guard let unlogged = self.notices.tokens.record(refusal, now: .now()) else { return }
        self.logger.notice(
            "token refused",
            metadata: [LogKey.reason: "\(refusal.sentence)", LogKey.count: "\(unlogged + 1)"])
    }
}
