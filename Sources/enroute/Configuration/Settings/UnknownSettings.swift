// A variable with an unknown name would have no effect. It is therefore an error, which suggests the name that was
// probably meant.

/// Names that are not in the table.
enum UnknownSettings {
    /// Variables that this project's tests and builds set. A process that they start may inherit them.
    private static let development: Set = Set(
        [
            "BINARY", "BUILD_TWIN", "EXECUTABLE", "FAILOVERS", "FIRST_SEED", "FUZZ", "HISTORIES", "RACES", "REPORT",
            "SEEDS", "TEST_LOG",
        ].map { "\(SettingsTable.prefix)\($0)" })

    /// The problems of names in the environment and in a file, one line each.
    ///
    /// - Parameter file: with its path.
    static func faults(environment: [String: String], file: (path: String, settings: SettingsFile)?) -> [String] {
        let inFile = (file?.settings.settings ?? []).filter { SettingsTable.setting($0.name) == nil }.map { setting in
            "\(file?.path ?? ""), line \(setting.line): \(Self.fault(setting.name))"
        }
        let inEnvironment = environment.filter { name, value in
            name.hasPrefix(SettingsTable.prefix) && SettingsTable.setting(name) == nil
                && !Self.development.contains(name) && !Self.isServiceLink(name, value)
        }.keys.sorted().map(Self.fault)
        return inFile + inEnvironment
    }

    private static func fault(_ name: String) -> String {
        if let current = FormerSettings.currentNames[name] { return "\(name) is now called \(current)." }
        let advice = Self.nearest(to: name).map { "did you mean \($0)?" } ?? "`enroute config` lists all settings."
        return "\(name) is not a setting; \(advice)"
    }

    /// Whether Kubernetes set the variable. It sets some in every container for each service of the namespace: for a service
    /// called `enroute-redis` these include `ENROUTE_REDIS_SERVICE_HOST` and `ENROUTE_REDIS_PORT=tcp://…`.
    static func isServiceLink(_ name: String, _ value: String) -> Bool {
        if name.contains(/_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$/) { return true }
        if name.contains(/_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/) { return true }
        return name.hasSuffix("_PORT") && value.contains(/^(tcp|udp|sctp):\/\//)
    }

    /// The known name closest to `name`; `nil` if none is close.
    static func nearest(to name: String) -> String? {
        let text = Self.stem(name.uppercased())
        guard !text.isEmpty, text.count <= 100 else { return nil }
        // The prefix may be misspelled or missing.
        func distance(_ known: String) -> Int {
            min(text.editDistance(to: Self.stem(known)), name.uppercased().editDistance(to: known))
        }
        let names = SettingsTable.all.map(\.name)
        let best = names.map { (name: $0, distance: distance($0)) }.min {
            ($0.distance, $0.name) < ($1.distance, $1.name)
        }
        if let best, best.distance <= max(1, min(3, text.count / 3)) { return best.name }
        // Part of a name may be missing, as in ENROUTE_REDIS_URL.
        let parts = text.split(separator: "_")
        return parts.count < 2 ? nil : names.first { Self.contains(parts, in: Self.stem($0).split(separator: "_")) }
    }

    private static func stem(_ name: String) -> String {
        name.hasPrefix(SettingsTable.prefix) ? String(name.dropFirst(SettingsTable.prefix.count)) : name
    }

    /// Whether `whole` contains all of `parts`, in that order.
    private static func contains(_ parts: [Substring], in whole: [Substring]) -> Bool {
        var rest = whole[...]
        for part in parts {
            guard let index = rest.firstIndex(of: part) else { return false }
            rest = rest[(index + 1)...]
        }
        return true
    }
}
