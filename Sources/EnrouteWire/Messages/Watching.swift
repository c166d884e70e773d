// The messages `watch` and `unwatch`: the rider pool of a zone, or its open jobs.

extension ClientMessage {
    /// `watch {zone, since?}` or `watch {zone, jobs: true}`.
    static func watch(from reader: inout JSONReader) throws(BadMessage) -> Self {
        let fields = try WatchFields(from: &reader, "watch")
        guard fields.isJobs else { return .watch(zone: fields.zone, since: fields.since) }
        guard fields.since == nil else { throw BadMessage("watch needs either since or jobs: true") }
        return .watchJobs(zone: fields.zone)
    }

    /// `unwatch {zone}` or `unwatch {zone, jobs: true}`.
    static func unwatch(from reader: inout JSONReader) throws(BadMessage) -> Self {
        let fields = try WatchFields(from: &reader, "unwatch")
        return fields.isJobs ? .unwatchJobs(zone: fields.zone) : .unwatch(zone: fields.zone)
    }

    /// The message as a client sends it.
    var watching: [UInt8] {
        switch self {
        case .watch(let zone, let since):
            JSONWriter.message("watch") { writer in
                writer.field("zone", zone.text)
                writer.field("since", since)
            }
        case .watchJobs(let zone), .unwatchJobs(let zone):
            JSONWriter.message(self.isWatchJobs ? "watch" : "unwatch") { writer in
                writer.field("zone", zone.text)
                writer.field("jobs", true)
            }
        case .unwatch(let zone): JSONWriter.message("unwatch") { $0.field("zone", zone.text) }
        default: preconditionFailure("\(self.type) does not concern watching")
        }
    }

    private var isWatchJobs: Bool { if case .watchJobs = self { true } else { false } }
}

/// The members of `watch` and `unwatch`.
private struct WatchFields {
    let zone: ZoneID
    var since: Int64?
    var isJobs = false

    init(from reader: inout JSONReader, _ message: StaticString) throws(BadMessage) {
        var members = Members(message)
        var (zone, since, isJobs) = (ZoneID?.none, Int64?.none, false)
        try reader.object { (name, reader) throws(BadMessage) in
            if name.equals("zone") {
                try members.once(0)
                zone = try reader.identifier("zone")
            } else if name.equals("since") {
                try members.once(1)
                guard !reader.null() else { return }
                let version = try reader.integer()
                guard PoolView.versions.contains(version) else {
                    throw BadMessage("since must be the version of a pool or a rider, 1 to 16 digits")
                }
                since = version
            } else if name.equals("jobs") {
                try members.once(2)
                isJobs = try reader.boolean()
            } else {
                try reader.value()
            }
        }
        (self.zone, self.since, self.isJobs) = (try members.required(zone, "zone"), since, isJobs)
    }
}
