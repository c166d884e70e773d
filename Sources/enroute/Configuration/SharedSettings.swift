// The settings that decide how long data in Redis lives. All gateways share that data: a gateway with another value
// deletes data that the others still need. Metrics show the values, and an alert compares them.

extension ProcessConfiguration {
    /// Settings that are numbers, not secret, and must be the same on every gateway.
    static let sharedSettingNames = [
        "ENROUTE_JOB_RETENTION_SECONDS", "ENROUTE_TRACKING_MAX_SHARING_SECONDS",
        "ENROUTE_TRACKING_POSITION_LIFETIME_SECONDS", "ENROUTE_RIDER_HEARTBEAT_TIMEOUT_SECONDS",
        "ENROUTE_RIDER_AUTO_OFFLINE_AFTER_SECONDS", "ENROUTE_AUDIT_ACCESS_MAX_ENTRIES",
    ]

    func sharedSettings() throws -> [String: Int] {
        try Dictionary(uniqueKeysWithValues: Self.sharedSettingNames.map { ($0, try self.integer($0)) })
    }
}
