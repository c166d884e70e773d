// Where a session is in its life: opening, signing in, signed in, closing, closed. Each step is one function, which changes
// nothing where that step is not possible, and says so: whoever was looked up while the client went away comes too late.
//
// A value. Until when the session may send is part of it, so that every frame asks one question: is it before that time?

internal import EnrouteWire
internal import NIOCore

/// The life of one session.
struct SessionLife {
    enum Stage {
        /// Nobody has said who it is.
        case opening
        /// Somebody is being looked up. What came since waits, in the order in which it came.
        case signingIn(waiting: [ClientRequest])
        case signedIn(AuthenticatedClient)
        /// Our close frame is out, or the peer's was answered.
        case closing
        /// The connection is gone.
        case closed
    }

    private(set) var stage = Stage.opening
    /// Nothing is sent from then on.
    private(set) var sendsUntil = NIODeadline.distantFuture

    /// Whoever leaves gives back what it has: a signed-in person its place among the sessions.
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

    /// Somebody may still sign in.
    var awaitsSignIn: Bool {
        switch self.stage {
        case .opening, .signingIn: true
        case .signedIn, .closing, .closed: false
        }
    }

    /// Who is signed in; `nil` before and after.
    var admitted: AuthenticatedClient? { if case .signedIn(let admitted) = self.stage { admitted } else { nil } }

    /// Somebody is being looked up.
    ///
    /// - Returns: whether that is the next step: one credential is looked up at a time.
    mutating func startSignIn() -> Bool {
        guard case .opening = self.stage else { return false }
        self.stage = .signingIn(waiting: [])
        return true
    }

    enum Deferral: Hashable {
        case deferred
        case tooMany
        /// Nobody is being looked up: act upon the message, or pass it over.
        case notSigningIn
    }

    /// A message came while somebody is looked up.
    ///
    /// - Parameter most: messages that may wait.
    mutating func deferUntilSignedIn(_ request: ClientRequest, most: Int) -> Deferral {
        guard case .signingIn(var waiting) = self.stage else { return .notSigningIn }
        guard waiting.count < most else { return .tooMany }
        waiting.append(request)
        self.stage = .signingIn(waiting: waiting)
        return .deferred
    }

    /// It is known who it is: looked up, or with the upgrade request.
    ///
    /// - Returns: what came meanwhile, to be acted upon; `nil` when nobody is awaited.
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

    /// A newer token replaced the one the session signed in with, so the older one's expiry no longer applies.
    ///
    /// - Returns: whether somebody is signed in.
    mutating func renew(_ admitted: AuthenticatedClient) -> Bool {
        guard case .signedIn = self.stage else { return false }
        self.stage = .signedIn(admitted)
        self.sendsUntil = .distantFuture
        return true
    }

    /// The token ends then.
    ///
    /// - Returns: whether somebody is signed in.
    mutating func expire(at time: NIODeadline) -> Bool {
        guard case .signedIn = self.stage else { return false }
        self.sendsUntil = time
        return true
    }

    /// A close frame goes out, ours or the answer to the peer's. Nothing else is sent after it.
    ///
    /// - Returns: who leaves; `nil` when one is out already.
    mutating func close() -> Identity? {
        guard self.isOpen else { return nil }
        return self.endLife(as: .closing)
    }

    /// The connection is gone.
    ///
    /// - Returns: who leaves; `nil` when that was known.
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
