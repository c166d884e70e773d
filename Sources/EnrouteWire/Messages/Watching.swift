// The messages `watch` and `unwatch`: the rider pool of a zone, its open jobs, or its places.

extension ClientMessage {
    /// `watch {zone, since?}`, `watch {zone, jobs: true}` or `watch {zone, places: true}`.
    static func watch(from reader: inout JSONReader) throws(BadMessage) -> Self {
        let fields = try WatchFields(from: &reader, "watch")
        guard fields.isJobs || fields.isPlaces else { return .watch(zone: fields.zone, since: fields.since) }
        guard fields.since == nil, !(fields.isJobs && fields.isPlaces) else {
            throw BadMessage("watch needs either since, jobs: true or places: true")
        }
        return fields.isJobs ? .watchJobs(zone: fields.zone) : .watchPlaces(zone: fields.zone)
    }

    /// `unwatch {zone}`, `unwatch {zone, jobs: true}` or `unwatch {zone, places: true}`.
    static func unwatch(from reader: inout JSONReader) throws(BadMessage) -> Self {
        let fields = try WatchFields(from: &reader, "unwatch")
        guard !(fields.isJobs && fields.isPlaces) else {
            throw BadMessage("unwatch needs either jobs: true or places: true")
        }
        if fields.isJobs { return .unwatchJobs(zone: fields.zone) }
        return fields.isPlaces ? .unwatchPlaces(zone: fields.zone) : .unwatch(zone: fields.zone)
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
        case .watchPlaces(let zone), .unwatchPlaces(let zone):
            JSONWriter.message(self.isWatchPlaces ? "watch" : "unwatch") { writer in
                writer.field("zone", zone.text)
                writer.field("places", true)
            }
        case .unwatch(let zone): JSONWriter.message("unwatch") { $0.field("zone", zone.text) }
        default: preconditionFailure("\(self.type) does not concern watching")
        }
    }

    private var isWatchJobs: Bool { if case .watchJobs = self { true } else { false } }
    private var isWatchPlaces: Bool { if case .watchPlaces = self { true } else { false } }
}

/// The members of `watch` and `unwatch`.
private struct WatchFields {
    let zone: ZoneID
    var since: Int64?
    var isJobs = false
    var isPlaces = false

    init(from reader: inout JSONReader, _ message: StaticString) throws(BadMessage) {
        var members = Members(message)
        var (zone, since, isJobs, isPlaces) = (ZoneID?.none, Int64?.none, false, false)
        try reader.object { (name, reader) throws(BadMessage) in
            if name.equals("zone") {
                try members.once(0)
                zone = try reader.identifier("zone")
            } else if name.equals("since") {
                try members.once(1)
                guard !reader.null() else { return }
                let version = try reader.integer("since")
                guard PoolView.versions.contains(version) else {
                    throw BadMessage("since must be the version of a pool or a rider, 1 to 16 digits")
                }
                since = version
            } else if name.equals("jobs") {
                try members.once(2)
                isJobs = try reader.boolean()
            } else if name.equals("places") {
                try members.once(3)
                isPlaces = try reader.boolean()
            } else {
                try reader.value()
            }
        }
        (self.zone, self.since) = (try members.required(zone, "zone"), since)
        (self.isJobs, self.isPlaces) = (isJobs, isPlaces)
    }
}
