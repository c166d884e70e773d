// The streets of all inputs before they become a network: each way refers to its nodes by keys that inputs share.

/// Ways and where their nodes are.
struct StreetWays {
    struct Way {
        /// Index of the first key in `keys`. The keys end at the next way's `first`.
        var first: Int
        var rule: StreetRule
        var name: UInt32
        /// The way's id in OpenStreetMap; `nil` for a line of a GeoJSON file.
        var id: Int64?
    }

    /// The maximum number of nodes of all ways together: 800 MB of keys.
    static let maxKeys = 100_000_000

    private(set) var ways: [Way] = []
    private(set) var keys: [Int64] = []
    private(set) var names = NamePool()
    private(set) var attributions: [String] = []
    /// OpenStreetMap ids of the ways so far, because extracts may overlap.
    private var known: Set<Int64> = []
    /// The lines of GeoJSON files by hash, because files may overlap too. Other lines with the same hash are stored under the
    /// following numbers.
    private var lines: [Int: Int] = [:]
    private(set) var restrictions: Set<TurnRestriction> = []
    /// Relations with a restriction that this reader does not support.
    private(set) var unreadRestrictions: Set<Int64> = []

    /// Adds a way unless it is known: by its id or, for a line without an id, by the nodes and the rule of an earlier
    /// line.
    ///
    /// - Parameters:
    ///   - id: the way's id in OpenStreetMap; `nil` for a line of a GeoJSON file.
    ///   - keys: of its nodes, in order.
    mutating func add(id: Int64?, rule: StreetRule, name: String?, keys: some Collection<Int64>)
        throws(StreetInputError)
    {
        guard keys.count >= 2 else { return }
        guard self.keys.count + keys.count <= Self.maxKeys else {
            throw .tooLarge(reason: "its streets have more than \(Self.maxKeys) points")
        }
        if let id {
            guard self.known.insert(id).inserted else { return }
        } else {
            guard self.isNew(rule, keys) else { return }
        }
        self.ways.append(Way(first: self.keys.count, rule: rule, name: self.names.index(of: name), id: id))
        self.keys.append(contentsOf: keys)
    }

    /// Whether no earlier line has these nodes and this rule. If so, the caller must add this line as the next way.
    private mutating func isNew(_ rule: StreetRule, _ keys: some Collection<Int64>) -> Bool {
        var hasher = Hasher()
        hasher.combine(rule)
        for key in keys { hasher.combine(key) }
        var hash = hasher.finalize()
        while let other = self.lines[hash] {
            if self.ways[other].rule == rule, self.keys(of: other).elementsEqual(keys) { return false }
            hash &+= 1
        }
        self.lines[hash] = self.ways.count
        return true
    }

    /// Adds the turns that a relation forbids. A relation that occurs in several inputs is added once.
    mutating func add(_ relation: OSMRelation) {
        if let restrictions = TurnRestriction.all(in: relation) {
            self.restrictions.formUnion(restrictions)
        } else {
            self.unreadRestrictions.insert(relation.id)
        }
    }

    mutating func add(attribution: String) {
        let text = attribution.trimmed(to: 200)
        if !text.isEmpty, !self.attributions.contains(text) { self.attributions.append(text) }
    }

    func keys(of way: Int) -> ArraySlice<Int64> {
        self.keys[self.ways[way].first..<(way + 1 < self.ways.count ? self.ways[way + 1].first : self.keys.count)]
    }
}

/// A pool that contains each name once.
struct NamePool {
    private var indices: [String: UInt32] = [:]
    private(set) var names: [String] = [""]

    /// Longest name in characters. A longer one is left out.
    static let longest = 60

    mutating func index(of name: String?) -> UInt32 {
        guard let name, !name.isEmpty, name.count <= Self.longest,
            !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { return 0 }
        if let known = self.indices[name] { return known }
        let index = UInt32(self.names.count)
        self.indices[name] = index
        self.names.append(name)
        return index
    }
}

extension String {
    /// Without control characters, and with at most `count` characters.
    fileprivate func trimmed(to count: Int) -> String {
        String(
            String(String.UnicodeScalarView(self.unicodeScalars.filter { $0.properties.generalCategory != .control }))
                .prefix(count))
    }
}
