// Whether Redis accepts all connections of a gateway.

/// Connections to one Redis, or to one master of a cluster.
package struct ClientDemand: Sendable, Hashable {
    /// Connections that a gateway opens.
    package var gateway: Int
    /// Event loops of that gateway.
    package var loops: Int
    /// Connections of the inspection, which Redis counts too.
    package var inspection: Int

    package init(gateway: Int, loops: Int, inspection: Int) {
        (self.gateway, self.loops, self.inspection) = (gateway, loops, inspection)
    }
}

extension RedisFacts {
    /// Connected clients without those of the inspection. Replicas and a cluster's bus count towards the limit.
    private func connectedClients(_ demand: ClientDemand) -> Int64? {
        self.number("connected_clients").map {
            max(0, $0 - Int64(demand.inspection)) + self.replicas + (self.number("cluster_connections") ?? 0)
        }
    }

    /// Whether another gateway can connect.
    var clientsFinding: Finding? {
        guard let demand = self.clientDemand, let limit = self.number("maxclients"),
            let connected = self.connectedClients(demand)
        else { return nil }
        let loops = demand.loops == 1 ? "one event loop" : "\(demand.loops) event loops"
        let state =
            "Redis accepts \(limit) clients, \(connected) are connected, and a gateway with \(loops) opens \(demand.gateway)"
        guard limit - connected < demand.gateway else { return self.ok(.clients, "\(state).") }
        let remedy = self.setting("maxclients", "\(Self.advisedClients)")
        guard limit >= demand.gateway else {
            return self.finding(
                .error, .clients, "\(state), more than this maximum.",
                why: "A gateway waits for its connections, and never becomes ready.", remedy: remedy)
        }
        return self.finding(
            .warning, .clients, "\(state).",
            why: "A gateway that starts waits until others have disconnected, and restarts one after the other fail.",
            remedy: "\(self.connection.commandLine) CLIENT LIST, and end unused clients; or \(remedy)")
    }

    /// `maxclients` of deploy/redis.
    private static let advisedClients = 10_000
}
