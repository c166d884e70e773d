// Decides from the head of an upgrade request whether it may become a WebSocket (RFC 6455 section 4.2.1): the handshake must
// be valid, offer Enroute's subprotocol, come from an allowed origin, and its token, if there is one, must be valid.

internal import Access
internal import EnrouteWire
internal import HTTPValues
internal import NIOCore
internal import NIOHTTP1
internal import Realtime
internal import TrafficControl

/// The decision about an upgrade request.
enum Admission {
    /// The client is signed in by the token in its request, or, if `nil`, signs in with its first message.
    case session(AuthenticatedClient?)
    /// The session signs the client in with this single-use ticket.
    case ticket(String)
    /// The token's signing key is unknown. The session fetches the issuer's keys and then verifies the token.
    case token(String)
    case echo
    case refused(Refusal)

    struct Refusal {
        let status: HTTPResponseStatus
        let problem: Problem
        var headers: HTTPHeaders = [:]
    }

    static let path = "/v1"
    static let echoPath = "/v1/_echo"
    static let version = "13"
    /// Browsers let a page set no other header of a handshake: `new WebSocket(url, ['enroute.v1', 'ticket.…'])`.
    static let ticketPrefix = "ticket."

    /// - Parameters:
    ///   - address: the client address to which limits apply; `nil` if none apply.
    ///   - loop: the state of the connection's event loop.
    init(
        _ head: HTTPRequestHead, from address: ClientAddress?, origins: AllowedOrigins, _ loop: LoopState
    ) {
        if let refusal = Refusal(handshake: head) ?? Refusal(subprotocolOf: head) {
            self = .refused(refusal)
        } else if head.uri == Self.echoPath {
            self = .echo
        } else if !origins.allows(head.headers["origin"], host: head.headers["host"].first) {
            loop.refused(origin: head.headers["origin"].first ?? "")
            self = .refused(.origin)
        } else if let header = head.headers["authorization"].first {
            self = Self.verify(authorization: header, from: address, loop)
        } else {
            let ticket = head.headers[canonicalForm: "sec-websocket-protocol"].first { $0.hasPrefix(Self.ticketPrefix) }
            self = ticket.map { .ticket(String($0.dropFirst(Self.ticketPrefix.count))) } ?? .session(nil)
        }
    }

    /// Verifies the token of an `Authorization` header.
    private static func verify(
        authorization header: String, from address: ClientAddress?, _ loop: LoopState
    ) -> Admission {
        guard header.hasScheme("bearer") else {
            return .refused(Refusal(status: .unauthorized, problem: Problem(noTokenIn: header)))
        }
        // A token is signed, so it is verified during a lockout.
        let lockout = loop.quotas.lockout(of: address, at: NIODeadline.now().uptimeNanoseconds) {
            loop.settings.tokens.knows(bearer: header)
        }
        if case .refuse(let wait) = lockout { return .refused(Refusal(retryInMilliseconds: wait)) }
        do throws(TokenRefusal) {
            let admitted = AuthenticatedClient(
                try loop.settings.tokens.verify(bearer: header, now: WallClock.nowMilliseconds / 1000))
            return loop.isRevoked(admitted)
                ? .refused(Refusal(status: .unauthorized, problem: .revoked)) : .session(admitted)
        } catch {
            // A locked-out address must not cause requests to the issuer.
            if error.lacksKey, lockout == .none, loop.settings.issuerKeys != nil,
                let token = TokenVerifier.token(bearer: header)
            {
                return .token(token)
            }
            // An expired token is not a guess, and the client has to be notified that it needs a new one.
            let wait = error == .expired ? nil : loop.tokenRefused(address, error, during: lockout)
            return .refused(
                wait.map { Refusal(retryInMilliseconds: $0) }
                    ?? Refusal(status: .unauthorized, problem: Problem(error)))
        }
    }

    static func isUpgrade(_ head: HTTPRequestHead) -> Bool {
        head.headers[canonicalForm: "upgrade"].contains { $0.lowercased() == "websocket" }
    }

    /// Returns whether the path accepts WebSockets.
    static func isWebSocketPath(_ path: String, _ settings: GatewaySettings) -> Bool {
        path == Self.path || settings.hasEchoEndpoint && path == Self.echoPath
    }
}

extension Admission.Refusal {
    init(bad detail: String) {
        self.init(status: .badRequest, problem: Problem(.badRequest, status: 400, detail: detail))
    }

    /// RFC 9110 section 15.5.22 and RFC 6455 section 4.4.
    private init(upgradeRequired detail: String) {
        self.init(
            status: .upgradeRequired, problem: Problem(.badRequest, status: 426, detail: detail),
            headers: ["sec-websocket-version": Admission.version, "upgrade": "websocket"])
    }

    init(retryInMilliseconds wait: Int64) {
        self.init(
            status: .tooManyRequests, problem: Problem(tooManyInvalidTokens: wait),
            headers: ["retry-after": String((wait + 999) / 1000)])
    }

    /// The page has another origin.
    fileprivate static var origin: Admission.Refusal {
        Admission.Refusal(
            status: .forbidden,
            problem: Problem(
                .forbidden, status: 403,
                detail: "Pages of this origin are not allowed to connect. Ask the operator to allow the origin."))
    }

    /// - Returns: `nil` if the request offers Enroute's subprotocol, or needs none.
    fileprivate init?(subprotocolOf head: HTTPRequestHead) {
        guard head.uri != Admission.echoPath,
            !head.headers[canonicalForm: "sec-websocket-protocol"].contains(where: { $0 == Limits.subprotocol })
        else { return nil }
        self.init(bad: "The subprotocol is missing. Offer \(Limits.subprotocol) in Sec-WebSocket-Protocol.")
    }

    /// Validates the opening handshake.
    ///
    /// - Returns: `nil` if it is valid.
    fileprivate init?(handshake head: HTTPRequestHead) {
        guard Admission.isUpgrade(head) else {
            self.init(
                upgradeRequired:
                    "This path accepts only WebSockets, and the request has no Upgrade: websocket. If a proxy forwarded "
                    + "it, the proxy must pass on Upgrade and Connection.")
            return
        }
        guard head.method == .GET, head.version == .http1_1 else {
            self.init(bad: "A WebSocket handshake must use GET and HTTP/1.1.")
            return
        }
        guard (try? RequestRules.body(of: head)) == RequestFraming.Body.none else {
            self.init(bad: "A WebSocket handshake must not have a body.")
            return
        }
        guard head.headers[canonicalForm: "connection"].contains(where: { $0.lowercased() == "upgrade" }) else {
            self.init(
                bad: "A WebSocket handshake must contain Connection: Upgrade. A proxy that forwards it must pass it on."
            )
            return
        }
        guard head.headers["sec-websocket-version"] == [Admission.version] else {
            self.init(upgradeRequired: "Only WebSocket version 13 is supported.")
            return
        }
        let keys = head.headers["sec-websocket-key"]
        // 16 bytes in base64 (RFC 6455 section 11.3.1).
        guard keys.count == 1, let key = keys.first?.utf8, key.count == 24, key.suffix(2).elementsEqual("==".utf8),
            key.dropLast(2).allSatisfy(\.isBase64)
        else {
            self.init(bad: "A WebSocket handshake must contain one Sec-WebSocket-Key: 16 bytes in base64.")
            return
        }
        return nil
    }
}

extension UInt8 {
    fileprivate var isBase64: Bool {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }
}
