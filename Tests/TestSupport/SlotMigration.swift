// Moves a slot from one master to another like redis-cli --cluster reshard, but step by step, so that a test can stop in
// between: after `begin` and before `finish`, requests for keys that are no longer on the source are answered with ASK.

private import Redis

/// One move of one slot.
package struct SlotMigration: Sendable {
    package let slot: Int
    package let source: ClusterFleet.Node
    package let target: ClusterFleet.Node
    /// The other masters, which are notified at the end.
    package let others: [ClusterFleet.Node]

    /// Keys per MIGRATE.
    package static let batch = 10
    /// Time limit of one MIGRATE, ms.
    private static let moveTimeoutMilliseconds = 5000

    /// Moves everything.
    package func run() async throws {
        try await self.begin()
        try await self.moveKeys()
        try await self.finish()
    }

    /// Prepares the target and the source: from now on, requests for missing keys are redirected to the target.
    package func begin() async throws {
        try await self.target.endpoint.carryOut("CLUSTER", "SETSLOT", "\(self.slot)", "IMPORTING", self.source.id)
        try await self.source.endpoint.carryOut("CLUSTER", "SETSLOT", "\(self.slot)", "MIGRATING", self.target.id)
    }

    /// Moves keys.
    ///
    /// - Returns: the number of moved keys, at most `most`; 0 when none is left.
    @discardableResult
    package func moveKeys(atMost most: Int = .max) async throws -> Int {
        try await RawRedis.talking(to: self.source.endpoint) { source in
            var moved = 0
            while moved < most {
                let count = min(Self.batch, most - moved)
                let keys =
                    try await source.carryOut(["CLUSTER", "GETKEYSINSLOT", "\(self.slot)", "\(count)"])
                    .array?.compactMap(\.text) ?? []
                guard !keys.isEmpty else { break }
                try await source.carryOut(
                    [
                        "MIGRATE", "127.0.0.1", "\(self.target.port)", "", "0", "\(Self.moveTimeoutMilliseconds)",
                        "KEYS",
                    ] + keys)
                moved += keys.count
            }
            return moved
        }
    }

    /// Assigns the slot to the target and notifies all masters, the target first, so that no client is redirected to a node
    /// that refuses.
    ///
    /// - Throws: `KeysLeft` if keys are left. The source would delete them, because the target's claim takes precedence.
    package func finish() async throws {
        let count = try await self.source.endpoint.carryOut("CLUSTER", "COUNTKEYSINSLOT", "\(self.slot)").integer
        guard count == 0 else { throw KeysLeft(count: count ?? 0, slot: self.slot) }
        for node in [self.target, self.source] + self.others {
            try await node.endpoint.carryOut("CLUSTER", "SETSLOT", "\(self.slot)", "NODE", self.target.id)
        }
    }

    /// Some keys were not moved.
    package struct KeysLeft: Error, CustomStringConvertible {
        package let count: Int64
        package let slot: Int
        package var description: String {
            "\(self.count) keys of slot \(self.slot) are still at its old master, which would delete them: move them first."
        }
    }

    /// Leaves the slot where it is; moved keys are not moved back.
    package func abandon() async throws {
        for node in [self.source, self.target] {
            try await node.endpoint.carryOut("CLUSTER", "SETSLOT", "\(self.slot)", "STABLE")
        }
    }
}
