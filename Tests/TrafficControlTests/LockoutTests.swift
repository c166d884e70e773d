import EnrouteWire
import Foundation
import Telemetry
import Testing

@testable import TrafficControl

@Suite struct LockoutTests {
    private static let here = ClientAddress("192.0.2.1")!
    private static let there = ClientAddress("192.0.2.2")!
    private static let second: UInt64 = 1_000_000_000

    /// Quotas after three invalid tokens from `here`, of which two more are allowed per second.
    private static func lockedOut(at now: UInt64) -> Quotas {
        var limits = Limits()
        (limits.refusedTokensPerAddressPerSecond, limits.refusedTokensPerAddressBurst) = (2, 3)
        let quotas = Quotas(limits: limits)
        for _ in 0..<3 {
            let lockout = quotas.lockout(of: Self.here, at: now)
            #expect(lockout == .none)
            #expect(quotas.recordInvalidToken(of: Self.here, during: lockout, at: now) == nil)
        }
        return quotas
    }

    /// Uses up the verifications of `here`.
    private static func exhaust(_ quotas: Quotas, at now: UInt64) {
        for _ in 0..<Lockout.verificationsBurst {
            guard case .verify = quotas.lockout(of: Self.here, at: now) else {
                Issue.record("the burst is smaller than \(Lockout.verificationsBurst)")
                return
            }
        }
    }

    @Test func `an address that guesses tokens is locked out for the announced time`() throws {
        let quotas = Self.lockedOut(at: Self.second)
        guard case .verify(let wait) = quotas.lockout(of: Self.here, at: Self.second) else {
            Issue.record("not locked out")
            return
        }
        #expect((500...501).contains(wait) && quotas.isLockedOut(Self.here, at: Self.second))
        let later = Self.second + UInt64(wait) * 1_000_000
        #expect(quotas.lockout(of: Self.here, at: later) == .none && !quotas.isLockedOut(Self.here, at: later))
    }

    @Test func `other addresses and clients without a limit are not locked out`() {
        let quotas = Self.lockedOut(at: Self.second)
        for address in [Self.there, nil] {
            #expect(quotas.lockout(of: address, at: Self.second) == .none)
            #expect(!quotas.isLockedOut(address, at: Self.second))
        }
    }

    @Test func `a locked-out address may present credentials at a bounded rate`() {
        let quotas = Self.lockedOut(at: Self.second)
        Self.exhaust(quotas, at: Self.second)
        guard case .refuse(let wait) = quotas.lockout(of: Self.here, at: Self.second) else {
            Issue.record("verified beyond the burst")
            return
        }
        // The wait is that of the lockout, so the client cannot tell whether its credential was verified.
        #expect((500...501).contains(wait))
        let soon = Self.second + Self.second / UInt64(Lockout.verificationsPerSecond)
        guard case .verify = quotas.lockout(of: Self.here, at: soon) else {
            Issue.record("the rate does not refill")
            return
        }
    }

    @Test func `a flood of credentials cannot crowd out one that was verified before, which uses up no verification`() {
        let quotas = Self.lockedOut(at: Self.second)
        for _ in 0...Lockout.verificationsBurst {
            guard case .verify = quotas.lockout(of: Self.here, at: Self.second, isKnown: { true }) else {
                Issue.record("a known credential was refused")
                return
            }
        }
        Self.exhaust(quotas, at: Self.second)
        for isKnown in [true, false] {
            let isRefused =
                if case .refuse = quotas.lockout(of: Self.here, at: Self.second, isKnown: { isKnown }) { true } else {
                    false
                }
            #expect(isRefused != isKnown)
        }
    }

    @Test func `whether a credential is known is queried only during a lockout`() {
        let quotas = Self.lockedOut(at: Self.second)
        for address in [Self.there, nil] {
            let lockout = quotas.lockout(of: address, at: Self.second) {
                Issue.record("asked")
                return true
            }
            #expect(lockout == .none)
        }
    }

    @Test func `asking whether an address is locked out uses up no verification`() {
        let quotas = Self.lockedOut(at: Self.second)
        for _ in 0...Lockout.verificationsBurst { #expect(quotas.isLockedOut(Self.here, at: Self.second)) }
        Self.exhaust(quotas, at: Self.second)
        #expect(quotas.refused[.requestsLockedOut] == 0)
    }

    @Test func `an invalid credential during a lockout gets the same wait, and does not prolong the lockout`() throws {
        let quotas = Self.lockedOut(at: Self.second)
        let lockout = quotas.lockout(of: Self.here, at: Self.second)
        let wait = try #require(quotas.recordInvalidToken(of: Self.here, during: lockout, at: Self.second))
        #expect(lockout == .verify(retryInMilliseconds: wait))
        #expect(quotas.lockout(of: Self.here, at: Self.second + UInt64(wait) * 1_000_000) == .none)
    }

    @Test func `only refusals are counted as such, and each of them once`() {
        let quotas = Self.lockedOut(at: Self.second)
        #expect(quotas.refused[.tokensRefused] == 3)
        Self.exhaust(quotas, at: Self.second)
        #expect(quotas.refused[.requestsLockedOut] == 0)
        let lockout = Lockout.verify(retryInMilliseconds: 500)
        _ = quotas.recordInvalidToken(of: Self.here, during: lockout, at: Self.second)
        #expect(quotas.refused[.requestsLockedOut] == 1)
        _ = quotas.lockout(of: Self.here, at: Self.second)
        #expect(quotas.refused[.requestsLockedOut] == 2)
        #expect(quotas.refused[.tokensRefused] == 3)
    }

    @Test func `all clients that may share an address can connect again at once during a lockout`() {
        #expect(Lockout.verificationsBurst >= Limits().sessionsPerAddress)
    }

    @Test func `the protocol documents the rate of verifications`() throws {
        let document = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../Sources/EnrouteWire/protocol/limits.md")
        let text = try String(contentsOf: document, encoding: .utf8)
        #expect(text.contains("verifies \(Lockout.verificationsPerSecond) tokens"))
        #expect(text.contains("(burst \(Lockout.verificationsBurst))"))
    }
}
