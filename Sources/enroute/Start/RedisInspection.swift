// Looking at both Redis before, or instead of, serving: connects as the configuration says, asks, and judges.

import Gateway
import Realtime
import LiveState
import Logging
import NIOCore
import Redis

/// Both roles of Redis as the configuration names them.
struct RedisInspection: Sendable {
    /// One role: how gateways reach it, and who may be asked for its settings.
    struct Target: Sendable {
        let role: RedisRole
        let address: RedisAddress
        let admin: RedisAddress?
        /// The name of the variable that names `admin`.
        var adminName: String { "ENROUTE_REDIS_\(self.role.rawValue.uppercased())_ADMIN_URL" }
    }

    var mode: DeploymentMode
    let targets: [Target]
    let keyspace: Keyspace
    /// Where its connections live.
    let group: any EventLoopGroup

    /// What came of it.
    struct Outcome: Sendable {
        /// The gravest first, for each role.
        var findings: [Finding] = []
        /// A Redis could not be reached.
        var isUnavailable = false

        /// What is set wrong: errors, but for a Redis that is not there at the moment.
        var mistakes: [Finding] {
            self.findings.filter { $0.severity == .error && !(self.isUnavailable && $0.subject == .connection) }
        }
    }

    // MARK: everything, for `enroute check`

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
        return outcome
    }

    private func look(at target: Target) async throws -> (RedisFacts, [Finding]) {
        let client = try await self.client(of: target.address)
        defer { client.stop() }
        let (admin, refusal) = await self.admin(of: target)
        defer { admin?.stop() }
        let facts = try await RedisInspector(
            role: target.role, place: RedisPlace(target.address), client: client, admin: admin
        )
        .allFacts(keyspace: self.keyspace).get()
        return (facts, (facts.findings(in: self.mode) + [refusal].compactMap { $0 }).gravestFirst)
    }

    /// One instance for both roles cannot be judged by what the ledger asks, nor two that were exchanged by what either
    /// role does: that is said once.
    private func together(_ live: RedisFacts, _ ledger: RedisFacts, _ findings: [Finding]) -> [Finding] {
        if let swap = swapFinding(live, ledger) { return [swap] + findings.withoutRoles() }
        guard let separation = separationFinding(live, ledger, in: self.mode) else { return findings }
        let isOne = live.isOne(with: ledger)
        let ofLive = findings.filter { $0.role == .live }
        let ofLedger = findings.filter { $0.role == .ledger && (!isOne || $0.subject == .access) }
        return ofLive + (ofLedger + [separation]).gravestFirst
    }

    /// A replica that the URL names is there, only wrong; one that Sentinels or a cluster name is about to be another's.
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
                .error, target.role, .master, what: error.description, why: "A replica accepts no change.",
                remedy: "put its master into the URL, or the Sentinels that know it")
        }
        return Finding(
            .error, target.role, .connection, what: error.description, why: "No gateway works without it.",
            remedy: "\(RedisPlace(target.address).commandLine) PING, from this machine")
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

    /// The user that may be asked for settings; when it can not sign in, that is a finding and no more.
    private func admin(of target: Target) async -> (RedisClient?, Finding?) {
        guard let address = target.admin else { return (nil, nil) }
        do {
            return (try await self.client(of: address), nil)
        } catch {
            return (
                nil,
                Finding(
                    .warning, target.role, .settings, what: "\(target.adminName) can not be used: \(error)",
                    why: "Settings are not seen without it.", remedy: "put \(target.adminName) right, or leave it out")
            )
        }
    }
}

extension ProcessConfiguration {
    func mode() throws -> DeploymentMode {
        // `choice` allows these only.
        DeploymentMode(rawValue: try self.choice("ENROUTE_MODE"))!
    }

    /// Needs no more settings than those of Redis.
    func inspection(group: any EventLoopGroup) throws -> RedisInspection {
        func admin(_ role: String) throws -> RedisAddress? {
            try self.redisAddress("ENROUTE_REDIS_\(role)_ADMIN_URL")
        }
        let (live, ledger) = try self.redis()
        return RedisInspection(
            mode: try self.mode(),
            targets: [
                .init(role: .live, address: live, admin: try admin("LIVE")),
                .init(role: .ledger, address: ledger, admin: try admin("LEDGER")),
            ], keyspace: try self.liveState().keyspace, group: group)
    }
}
