// The lifecycle of a session: opening, signing in, signed in, closing, closed. Each transition is one function. If a
// transition is impossible in the current stage, for example because a lookup completes after the client has
// disconnected, the function changes nothing and reports that.
//
// A value. It includes the time until which the session may send, so every frame needs only one check: is it before
// that time?

internal import EnrouteWire
internal import NIOCore

/// The lifecycle of one session.
struct SessionLife {
    enum Stage {
        /// The client has not presented a credential.
        case opening
        /// A credential is being verified. Messages that arrive in the meantime are buffered in order.
        case signingIn(waiting: [ClientRequest])
        case signedIn(AuthenticatedClient)
        /// We have sent a close frame, as the first or in reply to the client's.
        case closing
        /// The connection is closed.
        case closed
    }

    private(set) var stage = Stage.opening
    /// Nothing is sent after this time.
    private(set) var sendsUntil = NIODeadline.distantFuture

    /// The client of a session that has just ended. A signed-in client releases its share of the connection limits.
    enum Identity {
        case anonymous
        case signedIn(AuthenticatedClient)
    }

    var isOpen: Bool {
        switch self.stage {
        case .opening, .signingIn, .signedIn: true
        case .closing, .closed: false
        }
    }

    var isClosed: Bool { if case .closed = self.stage { true } else { false } }

    /// A client may still sign in.
    var awaitsSignIn: Bool {
        switch self.stage {
        case .opening, .signingIn: true
        case .signedIn, .closing, .closed: false
        }
    }

    /// The signed-in client; `nil` before sign-in and after the end.
    var admitted: AuthenticatedClient? { if case .signedIn(let admitted) = self.stage { admitted } else { nil } }

    /// The verification of a credential starts.
    ///
    /// - Returns: `false` if another credential is being verified, or the session is past this stage.
    mutating func startSignIn() -> Bool {
        guard case .opening = self.stage else { return false }
        self.stage = .signingIn(waiting: [])
        return true
    }

    enum Deferral: Hashable {
        case deferred
        case tooMany
        /// No credential is being verified: handle the message now, or ignore it.
        case notSigningIn
    }

    /// Buffers a message that arrived while a credential is being verified.
    ///
    /// - Parameter most: the maximum number of buffered messages.
    mutating func deferUntilSignedIn(_ request: ClientRequest, most: Int) -> Deferral {
        guard case .signingIn(var waiting) = self.stage else { return .notSigningIn }
        guard waiting.count < most else { return .tooMany }
        waiting.append(request)
        self.stage = .signingIn(waiting: waiting)
        return .deferred
    }

    /// The client has been authenticated, by a lookup or by the upgrade request.
    ///
    /// - Returns: the buffered messages, which can be handled now; `nil` if the session is past this stage.
    mutating func signIn(_ admitted: AuthenticatedClient) -> [ClientRequest]? {
        let waiting: [ClientRequest]
        switch self.stage {
        case .opening: waiting = []
        case .signingIn(let requests): waiting = requests
        case .signedIn, .closing, .closed: return nil
        }
        self.stage = .signedIn(admitted)
        return waiting
    }

    /// A newer token replaced the one that the session signed in with, so the older one's expiry no longer applies.
    ///
    /// - Returns: whether a client is signed in.
    mutating func renew(_ admitted: AuthenticatedClient) -> Bool {
        guard case .signedIn = self.stage else { return false }
        self.stage = .signedIn(admitted)
        self.sendsUntil = .distantFuture
        return true
    }

    /// The token expires at this time.
    ///
    /// - Returns: whether a client is signed in.
    mutating func expire(at time: NIODeadline) -> Bool {
        guard case .signedIn = self.stage else { return false }
        self.sendsUntil = time
        return true
    }

    /// A close frame is sent, as the first or in reply to the client's. Nothing is sent after it.
    ///
    /// - Returns: the client of the session; `nil` if a close frame has already been sent.
    mutating func close() -> Identity? {
        guard self.isOpen else { return nil }
        return self.endLife(as: .closing)
    }

    /// The connection is closed.
    ///
    /// - Returns: the client of the session; `nil` if the session had already ended.
    mutating func disconnect() -> Identity? {
        guard !self.isClosed else { return nil }
        return self.endLife(as: .closed)
    }

    private mutating func endLife(as stage: Stage) -> Identity {
        let identity = self.admitted.map { Identity.signedIn($0) } ?? .anonymous
        self.stage = stage
        self.sendsUntil = .distantPast
        return identity
    }
}
