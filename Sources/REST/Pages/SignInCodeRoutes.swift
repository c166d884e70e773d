// Signs a user in to a page without a token in the URL. A client with a token obtains a single-use code, and the page exchanges
// the code for the token. So a link in an email, an app or a terminal can open a page as a signed-in user.

internal import Access
internal import EnrouteWire
package import HTTPValues
package import Hummingbird
internal import LiveState
internal import NIOCore
internal import Realtime
internal import TrafficControl

extension Routes {
    func addSignIns(to api: RouterGroup<GatewayRequestContext>) {
        api.post("sign-ins", use: self.createSignInCode)
        api.post("sign-ins/redeem", use: self.redeemSignInCode)
    }

    private struct SignInCodeRequest: Decodable {
        var expiresInSeconds: Int?
    }

    @Sendable private func createSignInCode(
        _ request: Request, _ context: GatewayRequestContext
    ) async throws -> Response {
        let grant = try self.grant(request, context, .createTicket)
        guard let token = request.headers[.authorization].flatMap({ TokenVerifier.token(bearer: $0) }) else {
            throw Problem(
                .forbidden, status: 403, detail: "Sign-in codes are issued only to requests with a bearer token.")
        }
        return try await self.executeOnce(request, context, by: grant, hasSecret: true, isShortLived: true) {
            request, _ in
            try await self.createSignInCode(for: token, request, context)
        }
    }

    private func createSignInCode(
        for token: String, _ request: Request, _ context: GatewayRequestContext
    ) async throws -> Response {
        let requested = try await self.optionalBody(SignInCodeRequest.self, request, context)
        let seconds = requested?.expiresInSeconds ?? SignInCodes.defaultLifetime
        guard SignInCodes.lifetimes.contains(seconds) else {
            throw Self.unprocessable(
                "expiresInSeconds must be \(SignInCodes.lifetimes.lowerBound) to \(SignInCodes.lifetimes.upperBound) s."
            )
        }
        let code = try await self.result(of: self.signInCodes.issue(for: token, seconds: seconds))
        return try Self.json(SignInCodeDocument(code: code, expiresInSeconds: seconds), status: .created)
    }

    private struct SignInCodeDocument: Encodable {
        var code: String
        var expiresInSeconds: Int
    }

    private struct RedeemBody: Decodable { var code: String }

    private struct SignedInDocument: Encodable {
        var token: String
        var role: String
        var person: String
        /// Milliseconds since the Unix epoch.
        var expiresAt: Int64
    }

    /// Exchanges a code for its token. Invalid, expired and used codes, and codes of expired tokens, get the same response, so
    /// that guessing reveals nothing.
    @Sendable private func redeemSignInCode(
        _ request: Request, _ context: GatewayRequestContext
    ) async throws -> Response {
        // A code consists of 128 random bits and is valid for ten minutes at most, so it is verified even during a
        // lockout.
        let attempt = try self.visitor(request, context)
        let body = try await self.body(RedeemBody.self, request, context)
        let token = try await self.result(of: self.signInCodes.redeem(body.code))
        if token == nil, let problem = self.problem(ofFailed: attempt) { throw problem }
        guard let token, let grant = await self.grant(signedIn: token),
            !self.revocations.isRevoked(grant), let expiresAt = grant.expiresAt
        else {
            throw Problem(
                .notFound, status: 404,
                detail: "The code is invalid, has expired or was already used. Request a new one.")
        }
        return try Self.json(
            SignedInDocument(
                token: token, role: grant.role.rawValue, person: grant.person.text, expiresAt: expiresAt * 1000))
    }

    /// Verifies the token of a code. If its signing key is unknown, the key is fetched now, because the code is used up
    /// and cannot be redeemed again.
    private func grant(signedIn token: String) async -> Grant? {
        if let keys = self.settings.issuerKeys {
            return try? await keys.verify(token, now: WallClock.nowMilliseconds / 1000)
        }
        return try? self.settings.tokens.verify(token, now: WallClock.nowMilliseconds / 1000)
    }

    /// Starts an attempt of a client without a token, and checks the limits of such requests.
    ///
    /// - Throws: 429 if a limit is reached.
    package func visitor(_ request: Request, _ context: GatewayRequestContext) throws -> CredentialAttempt {
        let attempt = try self.attempt(request, context)
        guard let address = attempt.address else { return attempt }
        let now = NIODeadline.now().uptimeNanoseconds
        let wait = self.quotas.anonymousRequestDelay(of: address, at: now)
        context.allowance.current = self.quotas.anonymousAllowance(of: address, at: now)
        if let wait { throw Problem(tooManyRequests: wait) }
        return attempt
    }
}
