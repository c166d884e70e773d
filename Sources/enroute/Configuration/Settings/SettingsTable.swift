// The table of all settings, group by group. A setting that is not in it is refused, and a test refuses one in it that no code
// reads. Nothing else in the project lists the settings.

import Access
import Gateway
import Realtime
import Redis

/// All settings.
enum SettingsTable {
    static let groups: [SettingGroup] = [
        general, listener, tls, redis, tokens, tracking, riders, jobs, arrivals, geocoding, events, pages, tiles,
        management, draining, overload, limits,
    ]

    static let all: [Setting] = groups.flatMap(\.settings)

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// - Returns: `nil` where there is no setting of that name.
    static func setting(_ name: String) -> Setting? { self.byName[name] }

    /// Prefix of every name but those of AWS.
    static let prefix = "ENROUTE_"

    /// Where the defaults come from that a library defines: the table does not repeat them.
    static let libraryDefaults = GatewaySettings(
        host: "", port: 0, credentials: nil, live: RedisAddress(endpoint: .unix(path: "")),
        ledger: RedisAddress(endpoint: .unix(path: "")), tokens: TokenVerifier(keys: [], issuer: "", audience: ""))
}
