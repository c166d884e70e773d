// The nodes and ways of one block of an OpenStreetMap extract.

struct OSMBlock {
    private var strings: [UnsafeRawBufferPointer] = []
    private(set) var groups: [UnsafeRawBufferPointer] = []
    /// Nanodegrees per unit, and those of unit 0.
    private var granularity: Int64 = 100
    private var latitudeOffset: Int64 = 0
    private var longitudeOffset: Int64 = 0

    /// The block is valid as long as its bytes.
    init(_ bytes: UnsafeRawBufferPointer) throws(ProtobufError) {
        var reader = ProtobufReader(bytes)
        while let (field, value) = try reader.next() {
            switch (field, value) {
            case (1, .bytes(let table)):
                var reader = ProtobufReader(table)
                while let (field, value) = try reader.next() {
                    if field == 1, case .bytes(let text) = value { self.strings.append(text) }
                }
            case (2, .bytes(let group)): self.groups.append(group)
            case (17, .varint(let value)): self.granularity = Int64(truncatingIfNeeded: value)
            case (19, .varint(let value)): self.latitudeOffset = Int64(bitPattern: value)
            case (20, .varint(let value)): self.longitudeOffset = Int64(bitPattern: value)
            default: break
            }
        }
        guard (1...1_000_000_000).contains(self.granularity) else { throw ProtobufError(reason: "invalid granularity") }
    }

    func text(_ index: UInt64) throws(ProtobufError) -> String {
        guard index < UInt64(self.strings.count) else { throw ProtobufError(reason: "a text is missing") }
        return String(decoding: self.strings[Int(index)], as: UTF8.self)
    }

    /// The indices of a text, which a table may contain several times.
    func indices(of text: String) -> Set<UInt64> {
        Set(self.strings.indices.filter { self.strings[$0].elementsEqual(text.utf8) }.map { UInt64($0) })
    }

    // MARK: ways

    /// Calls `body` with the ways that have the tag `highway`.
    func visitWays(_ body: (_ id: Int64, _ tags: [String: String], _ nodes: [Int64]) throws -> Void) throws {
        let highway = self.indices(of: "highway")
        guard !highway.isEmpty else { return }
        for group in self.groups {
            var reader = ProtobufReader(group)
            while let (field, value) = try reader.next() {
                if field == 3, case .bytes(let way) = value { try self.visit(way, highway, body) }
            }
        }
    }

    private func visit(
        _ way: UnsafeRawBufferPointer, _ highway: Set<UInt64>,
        _ body: (Int64, [String: String], [Int64]) throws -> Void
    ) throws {
        var id: Int64 = 0
        var (keys, values, refs): ([UInt64], [UInt64], UnsafeRawBufferPointer?) = ([], [], nil)
        var reader = ProtobufReader(way)
        while let (field, value) = try reader.next() {
            switch (field, value) {
            case (1, .varint(let value)): id = Int64(bitPattern: value)
            case (2, .bytes(let packed)): keys += try Self.varints(packed)
            case (3, .bytes(let packed)): values += try Self.varints(packed)
            case (8, .bytes(let packed)): refs = packed
            default: break
            }
        }
        guard keys.contains(where: highway.contains), let refs else { return }
        guard keys.count == values.count else { throw ProtobufError(reason: "a tag of way \(id) has no value") }
        var tags: [String: String] = [:]
        for (key, value) in zip(keys, values) { tags[try self.text(key)] = try self.text(value) }
        var nodes: [Int64] = []
        var (last, numbers): (Int64, ProtobufReader) = (0, ProtobufReader(refs))
        while !numbers.isAtEnd {
            last = last &+ (try numbers.signed())
            // Negative keys belong to GeoJSON.
            guard last >= 0 else { throw ProtobufError(reason: "way \(id) has a node with a negative number") }
            nodes.append(last)
        }
        try body(id, tags, nodes)
    }

    static func varints(_ packed: UnsafeRawBufferPointer) throws(ProtobufError) -> [UInt64] {
        var (reader, numbers): (ProtobufReader, [UInt64]) = (ProtobufReader(packed), [])
        while !reader.isAtEnd { numbers.append(try reader.varint()) }
        return numbers
    }

    // MARK: nodes

    /// Calls `body` with all nodes whose coordinates are valid.
    func visitNodes(_ body: (_ id: Int64, _ point: StreetPoint, _ hasLights: Bool) -> Void) throws {
        let lights = (self.indices(of: "highway"), self.indices(of: "traffic_signals"))
        for group in self.groups {
            var reader = ProtobufReader(group)
            while let (field, value) = try reader.next() {
                switch (field, value) {
                case (1, .bytes(let node)): try self.visit(node: node, lights, body)
                case (2, .bytes(let dense)): try self.visit(dense: dense, lights, body)
                default: break
                }
            }
        }
    }

    private func visit(
        node: UnsafeRawBufferPointer, _ lights: (keys: Set<UInt64>, values: Set<UInt64>),
        _ body: (Int64, StreetPoint, Bool) -> Void
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
        body(id, point, zip(keys, values).contains { lights.keys.contains($0) && lights.values.contains($1) })
    }

    private func visit(
        dense: UnsafeRawBufferPointer, _ lights: (keys: Set<UInt64>, values: Set<UInt64>),
        _ body: (Int64, StreetPoint, Bool) -> Void
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
        while !idReader.isAtEnd {
            id = id &+ (try idReader.signed())
            latitude = latitude &+ (try latitudeReader.signed())
            longitude = longitude &+ (try longitudeReader.signed())
            var hasLights = false
            // Keys and values of a node, up to a 0.
            while !tagReader.isAtEnd {
                let key = try tagReader.varint()
                guard key != 0 else { break }
                let value = try tagReader.varint()
                if lights.keys.contains(key), lights.values.contains(value) { hasLights = true }
            }
            if let point = self.point(latitude, longitude) { body(id, point, hasLights) }
        }
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
