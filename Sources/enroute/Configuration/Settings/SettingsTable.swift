// The table of all settings, by group. A gateway refuses a setting that is not in the table, and a test fails for a
// setting that no code reads. The project has no other list of the settings.

import Access
import Gateway
import Realtime
import Redis

/// All settings.
enum SettingsTable {
    static let groups: [SettingGroup] = [
        general, listener, tls, redis, tokens, tracking, riders, jobs, arrivals, geocoding, events, webhooks, push,
        pages,
        tiles, management, draining, overload, limits, client,
    ]

    static let all: [Setting] = groups.flatMap(\.settings)

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// - Returns: `nil` if there is no setting with this name.
    static func setting(_ name: String) -> Setting? { self.byName[name] }

    /// The prefix of every name except those of AWS settings.
    static let prefix = "ENROUTE_"

    /// The defaults of `Gateway` and the targets below it. The table uses them instead of repeating their values.
    static let libraryDefaults = GatewaySettings(
        host: "", port: 0, credentials: nil, live: RedisAddress(endpoint: .unix(path: "")),
        ledger: RedisAddress(endpoint: .unix(path: "")), tokens: TokenVerifier(keys: [], issuer: "", audience: ""))
}
