// How many connections a gateway opens to Redis, for the check of `maxclients`.

package import LiveState

/// The number of connections that one gateway opens to each Redis role, or to each master of a cluster. A value.
package struct ConnectionCount: Sendable, Hashable {
    package let loops: Int
    package let live: Int
    package let ledger: Int

    /// Connections of each event loop for commands. Those to the ledger are for reads, for writes that wait for
    /// replicas, and for revocations, which have a subscriber connection too.
    private static let (liveClients, ledgerClients) = (1, 4)
    /// Connections of each gateway, for the events that webhooks deliver.
    private static let webhookClients = 1

    package init(loops: Int, deliversWebhooks: Bool) {
        let subscribers = LoopParts.subscriberConnections(ofLoop: loops)
        self.loops = loops
        self.live = loops * (Self.liveClients + subscribers)
        self.ledger = loops * (Self.ledgerClients + subscribers) + (deliversWebhooks ? Self.webhookClients : 0)
    }

    package subscript(role: RedisRole) -> Int {
        switch role {
        case .live: self.live
        case .ledger: self.ledger
        }
    }
}
