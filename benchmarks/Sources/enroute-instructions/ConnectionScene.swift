// A follower's connection from TCP to the subscription, and its closing: with a full TLS handshake, and with a session that is
// resumed. One connection is opened when the previous one has been closed by both sides.

struct ConnectionScene: Scene {
    let kind = Stage.Kind.lockstep
    let figures = ["connection_full_handshake", "connection_resumed"]

    private static let job = "visited-job"
    /// Of the repetitions in lockstep: a connection costs as much as a dozen locations.
    private static let share = 5

    func measure(on stage: Stage, _ scale: Scale) async throws -> [Figure] {
        try stage.restConnection("service", "orders").perform(
            "POST", "jobs", #"{"job":"\#(Self.job)","kind":"service","customer":"visitor","rider":"rider-2"}"#)
        let token = try stage.token("customer", "visitor")
        let context = try TLSContext(authorities: stage.certificate)

        /// - Returns: the ticket for the next connection.
        func visit(resuming session: TLSSession?) throws -> TLSSession {
            let tls = try TLSConnection(port: stage.port, context, resuming: session)
            guard tls.wasResumed == (session != nil) else { throw BenchFailure("The TLS session was not resumed.") }
            let follower = try WebSocketConnection(tls, token: token)
            try follower.receive(#""type":"welcome""#)
            try follower.send(#"{"type":"subscribe","job":"\#(Self.job)"}"#)
            try follower.receive(#""type":"subscribed""#)
            defer { follower.close() }
            return try tls.session()
        }

        let count = scale.repetitions / Self.share
        let full = try await stage.callgrind.cost(of: count, warmUp: Self.warmUp) { count in
            for _ in 0..<count { _ = try visit(resuming: nil) }
        }
        var session = try visit(resuming: nil)
        let resumed = try await stage.callgrind.cost(of: count, warmUp: Self.warmUp) { count in
            for _ in 0..<count { session = try visit(resuming: session) }
        }
        return zip(self.figures, [full, resumed]).map { Figure($0, $1) }
    }

    private static let warmUp = 10
}
