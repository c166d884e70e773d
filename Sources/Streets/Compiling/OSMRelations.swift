// The relations of one block of an OpenStreetMap extract.

extension OSMBlock {
    /// Calls `body` with the relations that have the type "restriction".
    func visitRestrictions(_ body: (OSMRelation) throws -> Void) throws {
        let restriction = self.indices(of: "restriction")
        guard !restriction.isEmpty else { return }
        for group in self.groups {
            var reader = ProtobufReader(group)
            while let (field, value) = try reader.next() {
                if field == 4, case .bytes(let relation) = value { try self.visit(relation, restriction, body) }
            }
        }
    }

    private func visit(
        _ bytes: UnsafeRawBufferPointer, _ restriction: Set<UInt64>, _ body: (OSMRelation) throws -> Void
    ) throws {
        var id: Int64 = 0
        var (keys, values, roles, kinds): ([UInt64], [UInt64], [UInt64], [UInt64]) = ([], [], [], [])
        var ids: [Int64] = []
        var reader = ProtobufReader(bytes)
        while let (field, value) = try reader.next() {
            switch (field, value) {
            case (1, .varint(let value)): id = Int64(bitPattern: value)
            case (2, .bytes(let packed)): keys += try Self.varints(packed)
            case (3, .bytes(let packed)): values += try Self.varints(packed)
            case (8, .bytes(let packed)): roles += try Self.varints(packed)
            case (9, .bytes(let packed)):
                var numbers = ProtobufReader(packed)
                while !numbers.isAtEnd { ids.append((ids.last ?? 0) &+ (try numbers.signed())) }
            case (10, .bytes(let packed)): kinds += try Self.varints(packed)
            default: break
            }
        }
        guard values.contains(where: restriction.contains) else { return }
        guard keys.count == values.count, roles.count == ids.count, kinds.count == ids.count else {
            throw ProtobufError(reason: "relation \(id) has tags or members that are not complete")
        }
        var tags: [String: String] = [:]
        for (key, value) in zip(keys, values) { tags[try self.text(key)] = try self.text(value) }
        guard tags["type"] == "restriction" else { return }
        var members: [OSMRelation.Member] = []
        for index in ids.indices {
            guard let kind = OSMRelation.MemberKind(rawValue: kinds[index]) else {
                throw ProtobufError(reason: "relation \(id) has a member of an unknown type")
            }
            members.append(.init(role: try self.text(roles[index]), kind: kind, id: ids[index]))
        }
        try body(OSMRelation(id: id, tags: tags, members: members))
    }
}
