// The URLs that an inspection may advise an operator to change. The inspection does not know where they are configured;
// the process replaces these phrases with the names of its settings.

/// The URL of a Redis role, or of a user that may read its configuration.
package enum RedisURLSetting: String, Sendable, CaseIterable, CustomStringConvertible {
    case live = "the live URL"
    case ledger = "the ledger URL"
    case liveAdmin = "the live admin URL"
    case ledgerAdmin = "the ledger admin URL"

    package var description: String { self.rawValue }

    static func admin(_ role: RedisRole) -> Self {
        switch role {
        case .live: .liveAdmin
        case .ledger: .ledgerAdmin
        }
    }
}
