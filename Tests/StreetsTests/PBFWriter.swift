// Writes small OpenStreetMap extracts, as https://wiki.openstreetmap.org/wiki/PBF_Format describes them.

import CZlib
import Foundation

struct PBFWriter {
    struct Node {
        var id: Int64
        var latitude: Double
        var longitude: Double
        var tags: [(String, String)] = []
    }

    struct Way {
        var id: Int64
        var tags: [(String, String)]
        var nodes: [Int64]
    }

    struct Relation {
        var id: Int64
        var tags: [(String, String)]
        /// Role, type (0 node, 1 way, 2 relation) and id.
        var members: [(role: String, type: UInt64, id: Int64)]

        static func restriction(
            _ id: Int64, _ kind: String, from: Int64, via: Int64, to: Int64, _ tags: [(String, String)] = []
        ) -> Relation {
            Relation(
                id: id, tags: [("type", "restriction"), ("restriction", kind)] + tags,
                members: [("from", 1, from), ("via", 0, via), ("to", 1, to)])
        }
    }

    enum Packing: CaseIterable, Sendable { case raw, zlib }

    var nodes: [Node] = []
    var ways: [Way] = []
    var relations: [Relation] = []
    /// The fields of members in all relations, instead of theirs.
    var relationMembers: [UInt8]?
    var features = ["OsmSchema-V0.6", "DenseNodes"]
    var packing = Packing.zlib
    var isDense = true
    var granularity: Int64 = 100
    /// Whether the tables contain each text twice. The second one is used.
    var repeatsTexts = false

    var bytes: [UInt8] {
        let header = self.features.flatMap { Self.field(4, Array($0.utf8)) }
        return self.blob("OSMHeader", header) + self.blob("OSMData", self.block(self.nodeGroup))
            + self.blob("OSMData", self.block(self.wayGroup))
            + (self.relations.isEmpty ? [] : self.blob("OSMData", self.block(self.relationGroup)))
    }

    // MARK: encoding

    static func varint(_ value: UInt64) -> [UInt8] {
        var (value, bytes): (UInt64, [UInt8]) = (value, [])
        while value >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
            value >>= 7
        }
        return bytes + [UInt8(value)]
    }

    static func signed(_ value: Int64) -> [UInt8] { self.varint(UInt64(bitPattern: value << 1 ^ value >> 63)) }
    static func field(_ number: UInt64, _ bytes: [UInt8]) -> [UInt8] {
        self.varint(number << 3 | 2) + self.varint(UInt64(bytes.count)) + bytes
    }
    static func field(_ number: UInt64, _ value: UInt64) -> [UInt8] { self.varint(number << 3) + self.varint(value) }

    private static func deltas(_ values: [Int64]) -> [UInt8] {
        zip(values, [0] + values).flatMap { self.signed($0 &- $1) }
    }

    // MARK: parts

    private var strings: [String] {
        let tags = self.nodes.flatMap(\.tags) + self.ways.flatMap(\.tags) + self.relations.flatMap(\.tags)
        let roles = self.relations.flatMap(\.members).map(\.role)
        let texts = Set(tags.flatMap { [$0.0, $0.1] } + roles).sorted()
        return [""] + texts + (self.repeatsTexts ? texts : [])
    }

    private func index(_ text: String) -> UInt64 { UInt64(self.strings.lastIndex(of: text) ?? 0) }

    func blob(_ type: String, _ content: [UInt8]) -> [UInt8] {
        let data: [UInt8]
        switch self.packing {
        case .raw: data = Self.field(1, content)
        case .zlib:
            var count = compressBound(uLong(content.count))
            var packed = [UInt8](repeating: 0, count: Int(count))
            _ = CZlib.compress(&packed, &count, content, uLong(content.count))
            data = Self.field(2, UInt64(content.count)) + Self.field(3, Array(packed[..<Int(count)]))
        }
        let header = Self.field(1, Array(type.utf8)) + Self.field(3, UInt64(data.count))
        return withUnsafeBytes(of: UInt32(header.count).bigEndian, Array.init) + header + data
    }

    private func block(_ group: [UInt8]) -> [UInt8] {
        Self.field(1, self.strings.flatMap { Self.field(1, Array($0.utf8)) }) + Self.field(2, group)
            + Self.field(17, UInt64(self.granularity))
    }

    private func units(_ degrees: Double) -> Int64 { Int64((degrees * 1e9 / Double(self.granularity)).rounded()) }

    private var nodeGroup: [UInt8] {
        guard self.isDense else {
            return self.nodes.flatMap { node -> [UInt8] in
                let keys = node.tags.flatMap { Self.varint(self.index($0.0)) }
                let values = node.tags.flatMap { Self.varint(self.index($0.1)) }
                let tags = node.tags.isEmpty ? [] : Self.field(2, keys) + Self.field(3, values)
                return Self.field(
                    1,
                    Self.varint(1 << 3) + Self.signed(node.id) + tags + Self.varint(8 << 3)
                        + Self.signed(self.units(node.latitude)) + Self.varint(9 << 3)
                        + Self.signed(self.units(node.longitude)))
            }
        }
        var tags: [UInt8] = []
        for node in self.nodes {
            for (key, value) in node.tags { tags += Self.varint(self.index(key)) + Self.varint(self.index(value)) }
            tags.append(0)
        }
        return Self.field(
            2,
            Self.field(1, Self.deltas(self.nodes.map(\.id)))
                + Self.field(8, Self.deltas(self.nodes.map { self.units($0.latitude) }))
                + Self.field(9, Self.deltas(self.nodes.map { self.units($0.longitude) })) + Self.field(10, tags))
    }

    private var wayGroup: [UInt8] {
        self.ways.flatMap { way in
            Self.field(
                3,
                Self.field(1, UInt64(way.id)) + Self.field(2, way.tags.flatMap { Self.varint(self.index($0.0)) })
                    + Self.field(3, way.tags.flatMap { Self.varint(self.index($0.1)) })
                    + Self.field(8, Self.deltas(way.nodes)))
        }
    }

    private var relationGroup: [UInt8] {
        self.relations.flatMap { relation in
            Self.field(
                4,
                Self.field(1, UInt64(relation.id))
                    + Self.field(2, relation.tags.flatMap { Self.varint(self.index($0.0)) })
                    + Self.field(3, relation.tags.flatMap { Self.varint(self.index($0.1)) })
                    + (self.relationMembers ?? Self.members(of: relation, self.index)))
        }
    }

    private static func members(of relation: Relation, _ index: (String) -> UInt64) -> [UInt8] {
        self.field(8, relation.members.flatMap { self.varint(index($0.role)) })
            + self.field(9, self.deltas(relation.members.map(\.id)))
            + self.field(10, relation.members.flatMap { self.varint($0.type) })
    }

    /// Two streets that cross at a node with traffic lights, in Vienna.
    static var crossing: PBFWriter {
        var writer = PBFWriter()
        writer.nodes = [
            Node(id: 10, latitude: 48.200, longitude: 16.300), Node(id: 11, latitude: 48.201, longitude: 16.301),
            Node(id: 12, latitude: 48.202, longitude: 16.302, tags: [("highway", "traffic_signals")]),
            Node(id: 13, latitude: 48.204, longitude: 16.304), Node(id: 20, latitude: 48.204, longitude: 16.300),
            Node(id: 21, latitude: 48.200, longitude: 16.304), Node(id: 99, latitude: 48.3, longitude: 16.4),
        ]
        writer.ways = [
            Way(
                id: 1, tags: [("highway", "primary"), ("name", "Hauptstraße"), ("maxspeed", "50")],
                nodes: [10, 11, 12, 13]),
            Way(id: 2, tags: [("highway", "residential"), ("name", "Gasse")], nodes: [20, 12, 21]),
            Way(id: 3, tags: [("building", "yes")], nodes: [20, 99, 21]),
        ]
        return writer
    }
}
