// Finds all problems in the settings, so that an operator does not have to start a gateway again for every mistake.
// `enroute config`, `enroute check` and a failed start of `enroute serve` report all of them.

import Access

extension ProcessConfiguration {
    /// A problem that prevents a gateway from starting.
    struct Problem {
        /// `check` needs only the settings of Redis. It needs neither a certificate nor keys.
        enum Area { case redis, certificate, tokenKeys, other }

        let area: Area
        let error: any Error
    }

    /// Reads every setting, so the configuration must not be limited to one command.
    func problems() async -> [Problem] {
        var problems: [Problem] = []
        var known: Set<String> = []
        func attempt(_ area: Problem.Area = .other, _ read: () async throws -> Void) async {
            do {
                try await read()
            } catch {
                // A setting that several parts use is reported only once.
                if known.insert("\(error)").inserted { problems.append(Problem(area: area, error: error)) }
            }
        }
        await attempt(.redis) { _ = try self.redis() }
        for name in ["ENROUTE_REDIS_LEDGER_URL", "ENROUTE_REDIS_LIVE_ADMIN_URL", "ENROUTE_REDIS_LEDGER_ADMIN_URL"] {
            await attempt(.redis) { _ = try self.redisAddress(name) }
        }
        await attempt(.certificate) { _ = try self.credentials() }
        await attempt(.tokenKeys) { _ = try await self.tokens() }
        for setting in SettingsTable.all where self.isSet(setting.name) {
            switch setting.type {
            case .integer: await attempt { _ = try self.integer(setting.name) }
            case .choice: await attempt { _ = try self.choice(setting.name) }
            case .text, .list: break
            }
        }
        let parts: [() throws -> Void] = [
            { _ = try self.replicaQuorum() }, { _ = try self.topics() }, { _ = try self.queue() },
            { _ = try self.arrivals() }, { _ = try self.gatewayLiveState() }, { _ = try self.gatewayName() },
            { _ = try self.trustedProxies() }, { _ = try self.allowedOrigins() }, { _ = try self.pagesFolder() },
            { _ = try self.signInURL() }, { _ = try self.tiles() }, { _ = try self.photoOrigins() },
            { _ = try self.frameAncestors() }, { _ = try self.brand() },
            { _ = try self.languages(and: self.languageFiles()) }, { _ = try self.streets() },
            { _ = try self.proxyProtocol() }, { _ = try self.management() }, { _ = try self.limits() },
            { _ = try self.overload() }, { _ = try self.webhooks() }, { _ = try self.push() },
        ]
        for part in parts { await attempt { try part() } }
        // Settings that the parts above do not cover.
        if problems.isEmpty {
            let nobody = TokenVerifier(keys: [], issuer: self.tokenIssuer(), audience: self.tokenAudience())
            await attempt { _ = try self.gateway(host: nil, port: nil, credentials: nil, tokens: nobody) }
        }
        return problems
    }
}
