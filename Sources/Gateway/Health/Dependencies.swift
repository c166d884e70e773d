// What this gateway depends on, as it sees it now. Each event loop watches its own connections to Redis (RedisAvailability); services
// that are asked now and then are noted when they are (DependencyStates). `/healthz` and the metrics show all of it, readiness
// none of it (Readiness.swift).

internal import Access
internal import ETA
internal import FoundationEssentials
internal import NIOCore
internal import Realtime
internal import Telemetry
internal import TrafficControl

/// The body of `/healthz`.
struct HealthReport: Encodable {
    struct Line: Encodable {
        let name: String
        let state: String
        /// RFC 3339, UTC.
        let since: String
        /// Where it is, without credentials.
        let place: String?
    }

    let gateway: String
    /// What `/readyz` says.
    let readiness: String
    let status: String
    let dependencies: [Line]

    init(
        gateway: String, readiness: Readiness, dependencies: [DependencyState], places: [Dependency: String]
    ) {
        self.gateway = gateway
        self.readiness = readiness.text
        self.status = dependencies.allSatisfy(\.isUp) ? "ok" : "degraded"
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        self.dependencies = dependencies.map { state in
            Line(
                name: state.dependency.rawValue, state: state.isUp ? "up" : "down",
                // Half a millisecond more: the style cuts off what a floating-point second lacks.
                since: Date(timeIntervalSince1970: (Double(state.since) + 0.5) / 1000).formatted(style),
                place: places[state.dependency])
        }
    }
}

extension GatewayLoops {
    /// Everything that is configured and was asked at least once, in the order of `Dependency`.
    var dependencies: [DependencyState] {
        get async {
            var states = self.arrivalCounts.services.all
            for (loop, state) in zip(self.loops, self.states) {
                // A loop that does not answer says nothing; readiness does.
                guard let seen = try? await loop.submit({ state.value.redisAvailability }).get() else { continue }
                states += [seen.live, seen.ledger]
            }
            if let keys = self.issuerKeys?.fetched, keys.good + keys.failed > 0 {
                let since = keys.failingSince ?? keys.goodSince
                states.append(DependencyState(.tokenKeys, isUp: keys.failingSince == nil, since: since))
            }
            let merged = Dictionary(states.map { ($0.dependency, $0) }) { $0.merged(with: $1) }
            return Dependency.allCases.compactMap { merged[$0] }
        }
    }

    var health: HealthReport {
        get async {
            let settings = self.settings
            return HealthReport(
                gateway: settings.name, readiness: self.readiness, dependencies: await self.dependencies,
                places: [.redisLive: "\(settings.live)", .redisLedger: "\(settings.ledger)"])
        }
    }
}
