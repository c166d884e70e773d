// The nodes of one block of an OpenStreetMap extract.

/// The properties of a node that matter for its streets.
struct NodeMarks: Hashable {
    var hasLights = false
    /// `nil` if the node stops nobody.
    var barrier: Barrier?
}

extension OSMBlock {
    /// The indices of the texts that matter on a node.
    private struct Words {
        let highway: Set<UInt64>
        let lights: Set<UInt64>
        /// The keys of nodes that may be barriers.
        let barriers: Set<UInt64>

        init(_ block: OSMBlock) {
            self.highway = block.indices(of: "highway")
            self.lights = block.indices(of: "traffic_signals")
            self.barriers = block.indices(of: "barrier").union(block.indices(of: "access"))
        }
    }

    private typealias Tags = [(key: UInt64, value: UInt64)]

    /// Calls `body` with all nodes whose coordinates are valid.
    func visitNodes(_ body: (_ id: Int64, _ point: StreetPoint, _ marks: NodeMarks) -> Void) throws {
        let words = Words(self)
        for group in self.groups {
            var reader = ProtobufReader(group)
            while let (field, value) = try reader.next() {
                switch (field, value) {
                case (1, .bytes(let node)): try self.visit(node: node, words, body)
                case (2, .bytes(let dense)): try self.visit(dense: dense, words, body)
                default: break
                }
            }
        }
    }

    private func visit(
        node: UnsafeRawBufferPointer, _ words: Words, _ body: (Int64, StreetPoint, NodeMarks) -> Void
    ) throws {
        var (id, latitude, longitude): (Int64, Int64, Int64) = (0, 0, 0)
        var (keys, values): ([UInt64], [UInt64]) = ([], [])
        var reader = ProtobufReader(node)
        while let (field, value) = try reader.next() {
            switch (field, value) {
            case (1, .varint(let value)): id = ProtobufReader.zigzag(value)
            case (2, .bytes(let packed)): keys = try Self.varints(packed)
            case (3, .bytes(let packed)): values = try Self.varints(packed)
            case (8, .varint(let value)): latitude = ProtobufReader.zigzag(value)
            case (9, .varint(let value)): longitude = ProtobufReader.zigzag(value)
            default: break
            }
        }
        guard let point = self.point(latitude, longitude) else { return }
        body(id, point, try self.marks(zip(keys, values).map { ($0, $1) }, words))
    }

    private func visit(
        dense: UnsafeRawBufferPointer, _ words: Words, _ body: (Int64, StreetPoint, NodeMarks) -> Void
    ) throws {
        let empty = UnsafeRawBufferPointer(start: nil, count: 0)
        var (ids, latitudes, longitudes, tags) = (empty, empty, empty, empty)
        var reader = ProtobufReader(dense)
        while let (field, value) = try reader.next() {
            switch (field, value) {
            case (1, .bytes(let packed)): ids = packed
            case (8, .bytes(let packed)): latitudes = packed
            case (9, .bytes(let packed)): longitudes = packed
            case (10, .bytes(let packed)): tags = packed
            default: break
            }
        }
        var (idReader, latitudeReader, longitudeReader, tagReader) = (
            ProtobufReader(ids), ProtobufReader(latitudes), ProtobufReader(longitudes), ProtobufReader(tags)
        )
        var (id, latitude, longitude): (Int64, Int64, Int64) = (0, 0, 0)
        var nodeTags: Tags = []
        while !idReader.isAtEnd {
            id = id &+ (try idReader.signed())
            latitude = latitude &+ (try latitudeReader.signed())
            longitude = longitude &+ (try longitudeReader.signed())
            nodeTags.removeAll(keepingCapacity: true)
            // Keys and values of a node, up to a 0.
            while !tagReader.isAtEnd {
                let key = try tagReader.varint()
                guard key != 0 else { break }
                nodeTags.append((key, try tagReader.varint()))
            }
            if let point = self.point(latitude, longitude) { body(id, point, try self.marks(nodeTags, words)) }
        }
    }

    private func marks(_ tags: Tags, _ words: Words) throws(ProtobufError) -> NodeMarks {
        var marks = NodeMarks()
        // Most nodes have no tags.
        guard !tags.isEmpty else { return marks }
        marks.hasLights = tags.contains { words.highway.contains($0.key) && words.lights.contains($0.value) }
        guard tags.contains(where: { words.barriers.contains($0.key) }) else { return marks }
        var texts: [String: String] = [:]
        for (key, value) in tags { texts[try self.text(key)] = try self.text(value) }
        marks.barrier = Barrier(tags: texts)
        return marks
    }

    /// - Returns: `nil` for coordinates that are not on the earth.
    private func point(_ latitude: Int64, _ longitude: Int64) -> StreetPoint? {
        func degrees(_ value: Int64, _ offset: Int64) -> Double {
            (Double(offset) + Double(self.granularity) * Double(value)) / 1e9
        }
        return StreetPoint(
            latitude: degrees(latitude, self.latitudeOffset), longitude: degrees(longitude, self.longitudeOffset))
    }
}
