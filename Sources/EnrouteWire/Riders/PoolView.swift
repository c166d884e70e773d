// The rider pool of a zone as its watchers receive it: the whole pool, or the changes since the version they had seen.
// Later changes follow one by one, as the scripts publish them (RiderChange).

/// A rider who may get a task.
public struct PoolMember: Hashable, Sendable {
    public var rider: PersonID
    /// When the last heartbeat arrived, ms since the epoch.
    public var heartbeat: Int64

    public init(rider: PersonID, heartbeat: Int64) {
        self.rider = rider
        self.heartbeat = heartbeat
    }
}

/// The first message to a watcher of a zone, sent again whenever changes may have been missed.
public struct PoolView: Hashable, Sendable {
    public enum Content: Hashable, Sendable {
        /// The pool, newest heartbeat first. It replaces everything that was shown. `count` is the size of the whole
        /// pool, which may be larger than the list.
        case riders([PoolMember], count: Int)
        /// All changes since the version that was seen, oldest first. Each contains the version of the one before.
        case changes([RiderChange])
    }

    public var zone: ZoneID
    /// The version of the newest change it contains; 0 if there never was one. About µs since the epoch: 16 digits,
    /// below 2^53 until 2255.
    public var version: Int64
    public var content: Content

    public init(zone: ZoneID, version: Int64, _ content: Content) {
        self.zone = zone
        self.version = version
        self.content = content
    }

    /// The valid values of `since`: as many digits as zone_snapshot.lua accepts.
    public static let versions: ClosedRange<Int64> = 0...9_999_999_999_999_999
}

extension PoolView {
    public var encoded: [UInt8] {
        JSONWriter.message("pool") { writer in
            writer.field("zone", self.zone.text)
            writer.field("version", self.version)
            switch self.content {
            case .riders(let members, let count):
                writer.array("riders", members) { writer, member in
                    writer.object { writer in
                        writer.field("rider", member.rider.text)
                        writer.field("heartbeat", member.heartbeat)
                    }
                }
                writer.field("count", Int64(count))
            case .changes(let changes): writer.array("changes", changes) { $0.element($1.encoded) }
            }
        }
    }

    init(from reader: inout JSONReader) throws(BadMessage) {
        var members = Members("pool")
        var (zone, version, count) = (ZoneID?.none, Int64?.none, Int64?.none)
        var (riders, changes) = ([PoolMember]?.none, [RiderChange]?.none)
        try reader.object { (name, reader) throws(BadMessage) in
            switch String(decoding: name, as: UTF8.self) {
            case "zone":
                try members.once(0)
                zone = try reader.identifier("zone")
            case "version":
                try members.once(1)
                version = try reader.integer()
            case "count":
                try members.once(2)
                count = try reader.integer()
            case "riders":
                try members.once(3)
                var all: [PoolMember] = []
                try reader.array { (reader) throws(BadMessage) in all.append(try PoolMember(from: &reader)) }
                riders = all
            case "changes":
                try members.once(4)
                var all: [RiderChange] = []
                try reader.array { (reader) throws(BadMessage) in all.append(try RiderChange(from: &reader)) }
                changes = all
            default: try reader.value()
            }
        }
        let content: Content
        switch (riders, changes) {
        case (let riders?, nil):
            content = .riders(riders, count: Int(clamping: try members.required(count, "count")))
        case (nil, let changes?): content = .changes(changes)
        default: throw BadMessage("pool needs either riders or changes")
        }
        self.init(
            zone: try members.required(zone, "zone"), version: try members.required(version, "version"), content)
    }
}

extension PoolMember {
    fileprivate init(from reader: inout JSONReader) throws(BadMessage) {
        var members = Members("riders")
        var (rider, heartbeat) = (PersonID?.none, Int64?.none)
        try reader.object { (name, reader) throws(BadMessage) in
            if name.equals("rider") {
                try members.once(0)
                rider = try reader.identifier("rider")
            } else if name.equals("heartbeat") {
                try members.once(1)
                heartbeat = try reader.integer()
            } else {
                try reader.value()
            }
        }
        self.init(
            rider: try members.required(rider, "rider"), heartbeat: try members.required(heartbeat, "heartbeat"))
    }
}
