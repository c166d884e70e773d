// The nodes of all streets: where they are, and which of them are barriers.

/// Where nodes are, by key.
struct NodePlaces {
    /// Ascending.
    let keys: [Int64]
    /// More than keys, if nodes were added.
    private(set) var points: [StreetPoint]
    private(set) var hasLights: [Bool]
    /// The nodes that stop somebody, by index.
    private(set) var barriers: [UInt32: Barrier] = [:]

    /// A node that no input contains, because it is outside of an extract.
    private static let missing = StreetPoint(latitudeUnits: .max, longitudeUnits: .max)

    init(of ways: StreetWays) {
        var unique: [Int64] = []
        for key in ways.keys.sorted() where key != unique.last { unique.append(key) }
        self.keys = unique
        self.points = [StreetPoint](repeating: Self.missing, count: unique.count)
        self.hasLights = [Bool](repeating: false, count: unique.count)
    }

    func index(of key: Int64) -> Int? {
        var (low, high) = (0, self.keys.count)
        while low < high {
            let middle = (low + high) / 2
            if self.keys[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low < self.keys.count && self.keys[low] == key ? low : nil
    }

    /// - Returns: `nil` for a missing node.
    func point(_ index: Int) -> StreetPoint? {
        let point = self.points[index]
        return point == Self.missing ? nil : point
    }

    /// Whether the inputs contain at least one node of an extract's streets. Keys below 0 are those of GeoJSON.
    var hasExtractPoints: Bool { self.keys.indices.reversed().contains { self.keys[$0] >= 0 && self.point($0) != nil } }

    mutating func set(_ index: Int, _ point: StreetPoint, _ marks: NodeMarks = NodeMarks()) {
        self.points[index] = point
        if marks.hasLights { self.hasLights[index] = true }
        if let barrier = marks.barrier { self.barriers[UInt32(index)] = barrier }
    }

    /// Adds a node without a key.
    ///
    /// - Returns: its index.
    mutating func add(_ point: StreetPoint) -> UInt32 {
        self.points.append(point)
        self.hasLights.append(false)
        return UInt32(self.points.count - 1)
    }
}
