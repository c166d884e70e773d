// Every name that a setting can have. What is set under another name would have no effect, so it is refused, with the name that
// was probably meant. A test compares the list with the code that reads settings and with deploy/configuration.md.

/// Names of settings.
enum SettingNames {
    /// All but the limits, which `LimitSetting` names.
    private static let own = [
        "ENROUTE_MODE", "ENROUTE_LISTEN_HOST", "ENROUTE_LISTEN_PORT", "ENROUTE_EVENT_LOOPS", "ENROUTE_LOG_LEVEL",
        "ENROUTE_GATEWAY_NAME",
        "ENROUTE_DRAIN_SECONDS", "ENROUTE_DRAIN_ACCEPT_SECONDS",
        "ENROUTE_LISTEN_ALLOWED_ORIGINS",
        "ENROUTE_LISTEN_TRUSTED_PROXIES", "ENROUTE_MANAGEMENT", "ENROUTE_MANAGEMENT_HOST", "ENROUTE_MANAGEMENT_PORT",
        "ENROUTE_TLS", "ENROUTE_TLS_CERTIFICATE_FILE", "ENROUTE_TLS_KEY_FILE", "ENROUTE_TLS_TICKET_KEY_FILES",
        "ENROUTE_TLS_OCSP_RESPONSE_FILE", "ENROUTE_TLS_RECORD_LAYER",
        "ENROUTE_REDIS_LIVE_URL", "ENROUTE_REDIS_LEDGER_URL", "ENROUTE_REDIS_LIVE_ADMIN_URL",
        "ENROUTE_REDIS_LEDGER_ADMIN_URL", "ENROUTE_REDIS_PREFIX",
        "ENROUTE_REPLAY_TOKEN", "ENROUTE_TOKEN_PUBLIC_KEY_FILES", "ENROUTE_TOKEN_KEY_IDS", "ENROUTE_TOKEN_JWKS_URL",
        "ENROUTE_TOKEN_JWKS_CA_FILE", "ENROUTE_TOKEN_SECRET", "ENROUTE_TOKEN_ISSUER",
        "ENROUTE_TOKEN_AUDIENCE", "ENROUTE_SNS_TOPICS", "ENROUTE_SNS_CERTIFICATE_HOSTS", "ENROUTE_SNS_CA_FILE",
        "ENROUTE_SNS_MAX_AGE_SECONDS",
        "ENROUTE_SQS_QUEUE_URL", "ENROUTE_REDIS_LEDGER_WAIT_REPLICAS",
        "ENROUTE_ETA_OSRM_URL", "ENROUTE_ETA_OSRM_DAILY_LIMIT", "ENROUTE_ETA_AZURE_KEY", "ENROUTE_ETA_AZURE_KEY_FILE",
        "ENROUTE_ETA_AZURE_URL", "ENROUTE_ETA_AZURE_DAILY_LIMIT",
        "ENROUTE_ETA_MAPBOX_TOKEN", "ENROUTE_ETA_MAPBOX_TOKEN_FILE", "ENROUTE_ETA_MAPBOX_URL",
        "ENROUTE_ETA_MAPBOX_DAILY_LIMIT", "ENROUTE_ETA_PROVIDER_ORDER", "ENROUTE_ETA_CA_FILE",
        "ENROUTE_ETA_INTERVAL_SECONDS", "ENROUTE_GEOCODING_MAPBOX_TOKEN", "ENROUTE_GEOCODING_MAPBOX_TOKEN_FILE",
        "ENROUTE_GEOCODING_DAILY_LIMIT",
        "ENROUTE_TRACKING_MAX_SHARING_SECONDS", "ENROUTE_TRACKING_STALE_AFTER_SECONDS",
        "ENROUTE_TRACKING_MAX_PLAUSIBLE_SPEED_MPS",
        "ENROUTE_TRACKING_STOP_SHARING_ON_ARRIVAL",
        "ENROUTE_TRACKING_POSITION_LIFETIME_SECONDS", "ENROUTE_JOB_RETENTION_SECONDS",
        "ENROUTE_RIDER_HEARTBEAT_TIMEOUT_SECONDS",
        "ENROUTE_RIDER_AUTO_OFFLINE_AFTER_SECONDS",
        "ENROUTE_AUDIT_ACCESS_MAX_ENTRIES", "ENROUTE_PAGES_DIR", "ENROUTE_PAGES_SIGN_IN_URL",
        "ENROUTE_PAGES_TRANSLATION_FILES", "ENROUTE_PAGES_STREETS_FILE",
        "ENROUTE_TILES_URL", "ENROUTE_TILES_ATTRIBUTION", "ENROUTE_TILES_CA_FILE",
        "ENROUTE_PAGES_LEAFLET_DIR", "ENROUTE_OVERLOAD_LOOP_LAG_MS", "ENROUTE_OVERLOAD_DESCRIPTOR_PERCENT",
        "ENROUTE_OVERLOAD_MEMORY_MB",
    ]

    /// Names of others' that are read too.
    private static let others = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION"]

    /// What this project's own tests and builds set, and a process that they start may inherit.
    private static let development = [
        "BINARY", "BUILD_TWIN", "EXECUTABLE", "FAILOVERS", "FIRST_SEED", "FUZZ", "HISTORIES", "RACES", "REPORT",
        "SEEDS",
        "TEST_LOG",
    ].map { "\(prefix)\($0)" }

    static let prefix = "ENROUTE_"

    static let all = own + LimitSetting.all.map { "\(prefix)LIMIT_\($0.name)" } + others

    private static let known = Set(all)

    /// What is wrong with the names in the environment and in a file, a line each.
    ///
    /// - Parameter file: with its path.
    static func faults(environment: [String: String], file: (path: String, settings: SettingsFile)?) -> [String] {
        let inFile = (file?.settings.settings ?? []).filter { !Self.known.contains($0.name) }.map { setting in
            "\(file?.path ?? ""), line \(setting.line): \(Self.fault(setting.name))"
        }
        let inEnvironment = environment.filter { name, value in
            name.hasPrefix(Self.prefix) && !Self.known.contains(name) && !Self.development.contains(name)
                && !Self.isServiceLink(name, value)
        }.keys.sorted().map(Self.fault)
        return inFile + inEnvironment
    }

    private static func fault(_ name: String) -> String {
        let meant = Self.nearest(to: name).map { "did you mean \($0)?" } ?? "deploy/configuration.md lists them all."
        return "\(name) is not a setting; \(meant)"
    }

    /// Kubernetes sets such variables in every container for each service of its namespace: for a service that is called
    /// `enroute-redis`, `ENROUTE_REDIS_SERVICE_HOST` and `ENROUTE_REDIS_PORT=tcp://…`, among others.
    static func isServiceLink(_ name: String, _ value: String) -> Bool {
        if name.contains(/_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$/) { return true }
        if name.contains(/_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/) { return true }
        return name.hasSuffix("_PORT") && value.contains(/^(tcp|udp|sctp):\/\//)
    }

    /// The name that was probably meant; `nil` where none is near.
    static func nearest(to name: String) -> String? {
        let text = Self.stem(name.uppercased())
        guard !text.isEmpty, text.count <= 100 else { return nil }
        // The prefix may be misspelt, or left out.
        func distance(_ known: String) -> Int {
            min(Self.distance(text, Self.stem(known)), Self.distance(name.uppercased(), known))
        }
        let best = Self.all.map { (name: $0, distance: distance($0)) }.min {
            ($0.distance, $0.name) < ($1.distance, $1.name)
        }
        if let best, best.distance <= max(1, min(3, text.count / 3)) { return best.name }
        // A part that was left out: ENROUTE_REDIS_URL.
        let parts = text.split(separator: "_")
        return parts.count < 2 ? nil : Self.all.first { Self.holds(parts, in: Self.stem($0).split(separator: "_")) }
    }

    private static func stem(_ name: String) -> String {
        name.hasPrefix(Self.prefix) ? String(name.dropFirst(Self.prefix.count)) : name
    }

    /// Whether all of `parts` are in `whole`, in that order.
    private static func holds(_ parts: [Substring], in whole: [Substring]) -> Bool {
        var rest = whole[...]
        for part in parts {
            guard let index = rest.firstIndex(of: part) else { return false }
            rest = rest[(index + 1)...]
        }
        return true
    }

    /// Characters to add, drop or change (Levenshtein). Cost: O(product of the lengths).
    private static func distance(_ one: String, _ other: String) -> Int {
        let (one, other) = (Array(one.utf8), Array(other.utf8))
        var row = Array(0...other.count)
        for (index, byte) in one.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in other.indices {
                let change = diagonal + (byte == other[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(change, row[column] + 1, row[column + 1] + 1)
            }
        }
        return row[other.count]
    }
}
