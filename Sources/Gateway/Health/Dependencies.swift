// The state of the gateway's dependencies. Each event loop monitors its own connections to Redis (RedisAvailability); for
// other services the outcome of the last request counts (DependencyStates). `/healthz` and the metrics report this state.
// Readiness ignores it (Readiness.swift).

internal import Access
internal import ETA
internal import FoundationEssentials
internal import NIOCore
internal import Realtime
internal import Telemetry
internal import TrafficControl

/// The response body of `/healthz`.
struct HealthReport: Encodable {
    struct Line: Encodable {
        let name: String
        let state: String
        /// RFC 3339, UTC.
        let since: String
        /// The address of the dependency, without credentials.
        let place: String?
    }

    let gateway: String
    /// The text of `/readyz`.
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
                // Adds half a millisecond, because the style truncates and a floating-point number of seconds may be a
                // little too small.
                since: Date(timeIntervalSince1970: (Double(state.since) + 0.5) / 1000).formatted(style),
                place: places[state.dependency])
        }
    }
}

extension GatewayLoops {
    /// The state of every configured dependency that was used at least once, in the order of `Dependency`.
    var dependencies: [DependencyState] {
        get async {
            var states = self.arrivalCounts.services.all
            for (loop, state) in zip(self.loops, self.states) {
                // An event loop that does not answer is skipped here; `/readyz` reports it.
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
