// The texts and ways of one block of an OpenStreetMap extract.

struct OSMBlock {
    private var strings: [UnsafeRawBufferPointer] = []
    private(set) var groups: [UnsafeRawBufferPointer] = []
    /// Nanodegrees per unit, and the coordinates of unit 0.
    private(set) var granularity: Int64 = 100
    private(set) var latitudeOffset: Int64 = 0
    private(set) var longitudeOffset: Int64 = 0

    /// The block must not be used after its bytes have been released.
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

    /// The indices of a text. A table may contain it several times.
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
}
