// An address that has sent too many invalid credentials is locked out until its rate allows one more. Many clients may
// share the address (a mobile network, an office) although the app of only one of them is broken. Therefore the
// credentials of a locked-out address are still verified, at a bounded rate, and valid ones are accepted.
//
// This does not make guessing feasible. Tokens are signed, and links, tickets and sign-in codes are 128 random bits: 50
// guesses a second find one of a million links after 10^23 years. A credential that can be guessed must not be verified
// during a lockout.

/// What to do with a credential that has not been verified yet.
package enum Lockout: Hashable, Sendable {
    /// The address is not locked out.
    case none
    /// The address is locked out. A valid credential is accepted. An invalid one is refused as in the case `refuse`,
    /// without a reason.
    case verify(retryInMilliseconds: Int64)
    /// The address is locked out and exceeds its rate of verifications. The credential is refused without being verified.
    case refuse(retryInMilliseconds: Int64)

    /// How many credentials of a locked-out address are verified. A signature costs about 100 µs (ES256; HS256 a few µs), a
    /// look-up in Redis less, so an address costs about 0.5 % of a core. The burst is twice the sessions that an address may
    /// have by default, so that all of its clients can connect again at once.
    static let verificationsPerSecond = 50
    static let verificationsBurst = 100
}
