// The message `places`: where the riders of a zone are and where its jobs start and end, as its watchers receive them. Places
// have a message of their own, so that no other list of jobs contains positions.

/// Where one job of a zone starts and ends and where its rider is, or the last place of a rider who shares no position.
public struct ZonePlace: Hashable, Sendable {
    /// `nil` for the last place of a rider who shares no position for a job.
    public var job: JobID?
    public var rider: PersonID?
    /// Where the job ends.
    public var destination: Coordinate?
    /// Where a delivery is picked up.
    public var vendor: Coordinate?
    /// Where the rider is.
    public var position: Coordinate?
    /// Degrees clockwise from north.
    public var heading: Double?
    /// When the rider was there, ms since the epoch.
    public var at: Int64?

    public init(
        job: JobID? = nil, rider: PersonID? = nil, destination: Coordinate? = nil, vendor: Coordinate? = nil,
        position: Coordinate? = nil, heading: Double? = nil, at: Int64? = nil
    ) {
        (self.job, self.rider, self.destination, self.vendor) = (job, rider, destination, vendor)
        (self.position, self.heading, self.at) = (position, heading, at)
    }
}

/// A part of the places of a zone, or of their changes.
public struct ZonePlacesView: Hashable, Sendable {
    public var zone: ZoneID
    /// Whether the places replace everything that was shown.
    public var isReset: Bool
    /// Whether more messages follow that belong to the last `reset`.
    public var hasMore: Bool
    /// Places that are new, or have changed.
    public var places: [ZonePlace]
    /// Jobs without a place.
    public var goneJobs: [JobID]
    /// Riders without a place of their own.
    public var goneRiders: [PersonID]

    public init(
        zone: ZoneID, isReset: Bool = false, hasMore: Bool = false, places: [ZonePlace] = [], goneJobs: [JobID] = [],
        goneRiders: [PersonID] = []
    ) {
        (self.zone, self.isReset, self.hasMore) = (zone, isReset, hasMore)
        (self.places, self.goneJobs, self.goneRiders) = (places, goneJobs, goneRiders)
    }

    public var encoded: [UInt8] {
        JSONWriter.message("places") { writer in
            writer.field("zone", self.zone.text)
            writer.field("reset", self.isReset)
            writer.field("more", self.hasMore)
            writer.array("places", self.places) { $1.write(to: &$0) }
            writer.texts("goneJobs", self.goneJobs.map(\.text))
            writer.texts("goneRiders", self.goneRiders.map(\.text))
        }
    }

    init(from reader: inout JSONReader) throws(BadMessage) {
        var members = Members("places")
        var zone: ZoneID?
        var (isReset, hasMore) = (false, false)
        var (places, goneJobs, goneRiders): ([ZonePlace], [JobID], [PersonID]) = ([], [], [])
        try reader.object { (name, reader) throws(BadMessage) in
            switch String(decoding: name, as: UTF8.self) {
            case "zone":
                try members.once(0)
                zone = try reader.identifier("zone")
            case "reset": isReset = try reader.boolean()
            case "more": hasMore = try reader.boolean()
            case "places":
                try members.once(1)
                try reader.array { (reader) throws(BadMessage) in places.append(try ZonePlace(from: &reader)) }
            case "goneJobs":
                try reader.array { (reader) throws(BadMessage) in
                    goneJobs.append(try reader.identifier("goneJobs"))
                }
            case "goneRiders":
                try reader.array { (reader) throws(BadMessage) in
                    goneRiders.append(try reader.identifier("goneRiders"))
                }
            default: try reader.value()
            }
        }
        self.init(
            zone: try members.required(zone, "zone"), isReset: isReset, hasMore: hasMore, places: places,
            goneJobs: goneJobs, goneRiders: goneRiders)
    }
}

extension ZonePlace {
    /// Five decimals of a degree are 1.1 m, enough for a map of a town.
    private static let decimals = 5

    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("job", self.job?.text)
            writer.field("rider", self.rider?.text)
            Self.write("destination", self.destination, to: &writer)
            Self.write("vendor", self.vendor, to: &writer)
            Self.write("position", self.position, to: &writer)
            writer.field("hdg", self.heading, decimals: 0)
            writer.field("at", self.at)
        }
    }

    private static func write(_ name: StaticString, _ place: Coordinate?, to writer: inout JSONWriter) {
        guard let place else { return }
        writer.object(name) { writer in
            writer.field("lat", place.latitude, decimals: Self.decimals)
            writer.field("lon", place.longitude, decimals: Self.decimals)
        }
    }

    fileprivate init(from reader: inout JSONReader) throws(BadMessage) {
        self.init()
        var place = ZonePlace()
        try reader.object { (name, reader) throws(BadMessage) in
            switch String(decoding: name, as: UTF8.self) {
            case "job": place.job = try reader.identifier("job")
            case "rider": place.rider = try reader.identifier("rider")
            case "destination": place.destination = try Coordinate(from: &reader)
            case "vendor": place.vendor = try Coordinate(from: &reader)
            case "position": place.position = try Coordinate(from: &reader)
            case "hdg": place.heading = try reader.double()
            case "at": place.at = try reader.integer()
            default: try reader.value()
            }
        }
        self = place
    }
}
