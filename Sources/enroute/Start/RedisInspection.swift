// Inspects both Redis instances, for `enroute check` and before a gateway starts.

import Gateway
import Realtime
import LiveState
import Logging
import NIOCore
import Redis

/// The inspection of both Redis instances in the configuration.
struct RedisInspection: Sendable {
    /// One Redis: its address, and a user that may read its configuration.
    struct Target: Sendable {
        let role: RedisRole
        let address: RedisAddress
        let admin: RedisAddress?
        /// The environment variable that `admin` comes from.
        var adminName: String {
            switch self.role {
            case .live: "ENROUTE_REDIS_LIVE_ADMIN_URL"
            case .ledger: "ENROUTE_REDIS_LEDGER_ADMIN_URL"
            }
        }

        /// The address at which the admin signs in. If masters are discovered, it is the address of `master`, so that
        /// both users reach the same node.
        func address(of admin: RedisAddress, at master: RedisAddress) -> RedisAddress {
            guard case .tcp(let host, let port) = master.endpoint else { return admin }
            switch (self.address.endpoint, admin.endpoint) {
            case (.cluster, _), (.sentinels, .sentinels): return admin.at(RedisAddress.Node(host: host, port: port))
            default: return admin
            }
        }
    }

    var mode: DeploymentMode
    let targets: [Target]
    let keyspace: Keyspace
    /// The connections that a gateway opens; `nil` if its settings are invalid.
    var connections: ConnectionCount?
    /// The event loops of its connections.
    let group: any EventLoopGroup

    /// The result of an inspection.
    struct Outcome: Sendable {
        /// For each role, the most severe first.
        var findings: [Finding] = []
        /// Whether a Redis could not be reached.
        var isUnavailable = false

        /// Errors of the configuration, without those of a Redis that is currently unavailable.
        var mistakes: [Finding] {
            self.findings.filter { $0.severity == .error && !(self.isUnavailable && $0.subject == .connection) }
        }
    }

    /// Connections to each master during an inspection: one to find the masters, and one as the gateway's user.
    private static let ownConnections = 2

    // MARK: inspection

    func run() async throws -> Outcome {
        var (outcome, facts) = (Outcome(), [RedisRole: RedisFacts]())
        for target in self.targets {
            do {
                let (known, findings) = try await self.look(at: target)
                facts[target.role] = known
                outcome.findings += findings
            } catch let error as RedisError {
                outcome.isUnavailable = outcome.isUnavailable || Self.isUnavailable(error, at: target.address)
                outcome.findings.append(Self.failed(target, error))
            }
        }
        if let live = facts[.live], let ledger = facts[.ledger] {
            outcome.findings = self.together(live, ledger, outcome.findings)
        }
        outcome.findings = outcome.findings.map { $0.namingSettings() }
        return outcome
    }

    /// Inspects the master, or every master of a cluster.
    private func look(at target: Target) async throws -> (RedisFacts?, [Finding]) {
        let client = try await self.client(of: target.address)
        defer { client.stop() }
        var masters: [InspectedMaster] = []
        for master in try await client.masters().get() { masters.append(try await self.look(at: master, of: target)) }
        return (masters.together, masters.findings)
    }

    private func look(at master: RedisAddress, of target: Target) async throws -> InspectedMaster {
        let client = try await self.client(of: master)
        defer { client.stop() }
        let (admin, refusal) = await self.admin(of: target, at: master)
        defer { admin?.stop() }
        var facts = try await RedisInspector(
            role: target.role, connection: RedisConnectionInfo(target.address, at: master), client: client, admin: admin
        )
        .allFacts(keyspace: self.keyspace).get()
        let own = Self.ownConnections + (admin != nil && !facts.isAdminElsewhere ? 1 : 0)
        facts.clientDemand = self.connections.map {
            ClientDemand(gateway: $0[target.role], loops: $0.loops, inspection: own)
        }
        return InspectedMaster(
            name: master.description, facts: facts,
            findings: (facts.findings(in: self.mode) + [refusal].compactMap { $0 }).gravestFirst)
    }

    /// Findings about both together. If one instance has both roles, or if the two are swapped, most findings about the
    /// single roles do not apply; one finding about the cause replaces them.
    private func together(_ live: RedisFacts, _ ledger: RedisFacts, _ findings: [Finding]) -> [Finding] {
        if let swap = swapFinding(live, ledger) { return [swap] + findings.withoutRoles() }
        guard let separation = separationFinding(live, ledger, in: self.mode) else { return findings }
        let isOne = live.isOne(with: ledger)
        let ofLive = findings.filter { $0.role == .live }
        let ofLedger = findings.filter { $0.role == .ledger && (!isOne || $0.subject == .access) }
        return ofLive + (ofLedger + [separation]).gravestFirst
    }

    /// Whether the error may pass by itself. A replica in the URL is a mistake; a replica behind Sentinels or in a
    /// cluster means that a failover is in progress.
    private static func isUnavailable(_ error: RedisError, at address: RedisAddress) -> Bool {
        guard case .notMaster = error else { return error.isOutage }
        return switch address.endpoint {
        case .sentinels, .cluster: true
        case .tcp, .unix: false
        }
    }

    private static func failed(_ target: Target, _ error: RedisError) -> Finding {
        if case .notMaster = error, !Self.isUnavailable(error, at: target.address) {
            return Finding(
                .error, target.role, .master, what: error.description, why: "Replicas do not accept writes.",
                remedy: "use the URL of its master, or of the Sentinels that monitor it")
        }
        return Finding(
            .error, target.role, .connection, what: error.description, why: "A gateway cannot work without it.",
            remedy: "\(RedisConnectionInfo(target.address).connectionTest), from this machine")
    }

    // MARK: connections

    private func client(of address: RedisAddress) async throws -> RedisClient {
        let loop = self.group.next()
        let client = try await loop.submit {
            RedisClient(
                address: address, eventLoop: loop, logger: Logger(label: "enroute") { _ in SwiftLogNoOpLogHandler() })
        }.get()
        do {
            try await client.start().get()
        } catch {
            client.stop()
            throw error
        }
        return client
    }

    /// A connection as the user that may read the configuration, or a finding if that user cannot sign in.
    private func admin(of target: Target, at master: RedisAddress) async -> (RedisClient?, Finding?) {
        guard let address = target.admin else { return (nil, nil) }
        do {
            return (try await self.client(of: target.address(of: address, at: master)), nil)
        } catch {
            return (
                nil,
                Finding(
                    .warning, target.role, .settings, what: "\(target.adminName) cannot be used: \(error)",
                    why: "The configuration of Redis cannot be checked without it.",
                    remedy: "correct \(target.adminName), or unset it")
            )
        }
    }
}

extension RedisURLSetting {
    /// The environment variable that the URL comes from.
    fileprivate var variable: String {
        switch self {
        case .live: "ENROUTE_REDIS_LIVE_URL"
        case .ledger: "ENROUTE_REDIS_LEDGER_URL"
        case .liveAdmin: "ENROUTE_REDIS_LIVE_ADMIN_URL"
        case .ledgerAdmin: "ENROUTE_REDIS_LEDGER_ADMIN_URL"
        }
    }
}

extension Finding {
    /// The finding with the names of environment variables: in its remedy, and in its statement about an admin URL.
    fileprivate func namingSettings() -> Finding {
        var finding = self
        finding.remedy = RedisURLSetting.allCases.reduce(self.remedy) { $0.replacing($1.rawValue, with: $1.variable) }
        finding.what = [RedisURLSetting.liveAdmin, .ledgerAdmin].reduce(self.what) {
            $0.replacing($1.rawValue, with: $1.variable)
        }
        return finding
    }
}

extension ProcessConfiguration {
    func mode() throws -> DeploymentMode {
        // `choice` allows these only.
        DeploymentMode(rawValue: try self.choice("ENROUTE_MODE"))!
    }

    /// Requires only the settings of Redis.
    func inspection(group: any EventLoopGroup) throws -> RedisInspection {
        let (live, ledger) = try self.redis()
        return RedisInspection(
            mode: try self.mode(),
            targets: [
                .init(role: .live, address: live, admin: try self.redisAddress("ENROUTE_REDIS_LIVE_ADMIN_URL")),
                .init(role: .ledger, address: ledger, admin: try self.redisAddress("ENROUTE_REDIS_LEDGER_ADMIN_URL")),
            ], keyspace: try self.liveState().keyspace, connections: try? self.connections(), group: group)
    }

    private func connections() throws -> ConnectionCount {
        ConnectionCount(loops: try self.loops(), deliversWebhooks: try self.isOn("ENROUTE_WEBHOOK_DELIVERY"))
    }
}
