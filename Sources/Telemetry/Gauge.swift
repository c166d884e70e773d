// The register of all gauges, and the information about the build.

/// A gauge, or a metric of the process that the operating system counts.
package enum Gauge: String, CaseIterable, Sendable {
    case connections = "enroute_connections_open"
    case sessions = "enroute_sessions_open"
    case jobs = "enroute_jobs_followed"
    case outboxBytes = "enroute_outbox_queued_bytes"
    case eventLoops = "enroute_event_loops"
    case loopLag = "enroute_event_loop_lag_seconds"
    case ready = "enroute_ready"
    case shedding = "enroute_overloaded"
    case memoryLimit = "enroute_memory_limit_bytes"
    case certificateExpiry = "enroute_tls_certificate_expiry_timestamp_seconds"
    case redisReplicas = "enroute_redis_replicas"
    case clockOffset = "enroute_clock_offset_seconds"
    case setting = "enroute_setting"
    case buildInfo = "enroute_build_info"
    case memory = "process_resident_memory_bytes"
    case descriptors = "process_open_fds"
    case maxDescriptors = "process_max_fds"
    case cpuSeconds = "process_cpu_seconds_total"
    case startTime = "process_start_time_seconds"

    package var help: String {
        switch self {
        case .connections: "Open connections, including those of the management listener."
        case .sessions: "Open sessions that have signed in, by role; link is a viewer with a tracking link."
        case .jobs: "Distinct jobs that have a follower on this gateway."
        case .outboxBytes: "Bytes of messages queued for followers whose sockets are slow."
        case .eventLoops: "Event loops of this gateway, by which metrics that every loop counts can be divided."
        case .loopLag: "Delay of the slowest event loop at its last tick."
        case .ready: "1 while /readyz answers 200, otherwise 0."
        case .memoryLimit: "Resident memory above which idle sessions are closed; 0 for no limit."
        case .certificateExpiry:
            "Unix time at which the certificate for new connections expires; no sample without TLS."
        case .clockOffset:
            "Seconds by which this machine's clock is ahead of Redis's, by role; no sample while Redis does not answer."
        case .redisReplicas:
            "Replicas that receive writes, by Redis role; in a cluster the fewest of a master. No sample while it is down."
        case .setting: "Value of a setting that must be the same on every gateway, in its own unit."
        case .shedding: "1 while the gateway is overloaded and accepts no new connections, otherwise 0."
        case .buildInfo: "Always 1; the labels describe the program."
        case .memory: "Resident memory size."
        case .descriptors: "Open file descriptors, approximately."
        case .maxDescriptors: "Limit of open file descriptors."
        case .cpuSeconds: "CPU time in user and kernel mode."
        case .startTime: "Unix time at which the gateway started."
        }
    }

    fileprivate var type: String { self == .cpuSeconds ? "counter" : "gauge" }
}

/// The owner of a session. The values of the label `role`.
package enum SessionRole: String, Hashable, Sendable, CaseIterable {
    case customer, rider, ops, service
    /// A viewer with a tracking link.
    case link
}

/// The samples of one gauge.
package struct GaugeSamples: Sendable {
    let gauge: Gauge
    let samples: [(labels: [(name: String, value: String)], value: Double)]

    package init(_ gauge: Gauge, _ value: Double) { (self.gauge, self.samples) = (gauge, [([], value)]) }

    /// - Parameter value: `nil` for a gauge without a sample.
    package init(_ gauge: Gauge, optional value: Double?) {
        (self.gauge, self.samples) = (gauge, value.map { [([], $0)] } ?? [])
    }

    package init(sessions: [SessionRole: Int]) {
        self.gauge = .sessions
        self.samples = SessionRole.allCases.map { ([("role", $0.rawValue)], Double(sessions[$0] ?? 0)) }
    }

    /// - Parameter clockOffsets: seconds, by Redis role.
    package init(clockOffsets: [RedisMetrics.Role: Double]) {
        self.gauge = .clockOffset
        self.samples = RedisMetrics.Role.allCases.compactMap { role in
            clockOffsets[role].map { ([("role", role.rawValue)], $0) }
        }
    }

    /// - Parameter replicas: their number, by Redis role.
    package init(replicas: [RedisMetrics.Role: Int]) {
        self.gauge = .redisReplicas
        self.samples = RedisMetrics.Role.allCases.compactMap { role in
            replicas[role].map { ([("role", role.rawValue)], Double($0)) }
        }
    }

    /// - Parameter settings: values by name; none may be secret.
    package init(settings: [String: Int]) {
        self.gauge = .setting
        self.samples = settings.sorted { $0.key < $1.key }.map { ([("name", $0.key)], Double($0.value)) }
    }

    /// - Parameters:
    ///   - version: the version of Enroute.
    ///   - revision: the commit it was built from, or `unknown`.
    ///   - swift: the version of the compiler.
    package init(buildOf version: String, revision: String, swift: String) {
        self.gauge = .buildInfo
        self.samples = [([("version", version), ("revision", revision), ("swift", swift)], 1)]
    }

    var lines: [String] {
        let name = self.gauge.rawValue
        return ["# HELP \(name) \(self.gauge.help)", "# TYPE \(name) \(self.gauge.type)"]
            + self.samples.map { sample in
                let labels = sample.labels.map { "\($0.name)=\"\($0.value)\"" }.joined(separator: ",")
                return "\(name)\(labels.isEmpty ? "" : "{\(labels)}") \(sample.value)"
            }
    }
}
