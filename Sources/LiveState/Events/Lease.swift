// A lease in the ledger: at most one gateway at a time does some work. The holder renews it; if it dies, another
// gateway gets the lease once it has expired. Work under a lease must tolerate that two gateways do it for a moment.

internal import NIOCore
package import Redis

/// A lease, identified by its key. Safe to use from any thread.
package struct Lease: Sendable {
    private let ledger: RedisClient
    private let key: String
    private let holder: String

    /// How long a lease is valid after it was acquired or renewed.
    package static let lifetime: Duration = .seconds(15)
    /// How often a holder renews its lease.
    package static let renewal: Duration = .seconds(4)

    /// - Parameter holder: unique among gateways, 1 to 64 of [A-Za-z0-9_-].
    package init(ledger: RedisClient, key: String, holder: String) {
        (self.ledger, self.key, self.holder) = (ledger, key, holder)
    }

    /// Acquires or renews the lease.
    ///
    /// - Returns: whether it is held.
    package func hold() async throws -> Bool { try await self.call(Self.lifetime.milliseconds) == 1 }

    /// Releases the lease, if it is held.
    package func release() async throws { _ = try await self.call(0) }

    private func call(_ milliseconds: Int64) async throws -> Int64? {
        try await self.ledger.evaluate(
            Scripts.holdLease, keys: [self.key], arguments: [.text(self.holder), .integer(milliseconds)]
        ).get().array?.first?.integer
    }
}
