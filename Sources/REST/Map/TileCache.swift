// A cache of map tiles with a maximum size in bytes, so that the tiles of one city are requested from the provider only
// once.
//
// It approximates least-recently-used eviction with two generations. Requested tiles are put into the young generation.
// When that reaches half of the maximum size, it replaces the old generation, and tiles not requested since then are
// evicted. Each operation is therefore O(1), and no order has to be maintained.

internal import Routing

/// Cached tiles. Times are nanoseconds of a monotonic clock.
struct TileCache: Sendable {
    /// How long a tile is cached, and how long its absence is, in seconds.
    static let lifetimeSeconds: UInt64 = 86_400
    static let absenceSeconds: UInt64 = 600
    /// The estimated overhead of an entry in bytes, in addition to its image.
    static let entryOverheadBytes = 128

    struct Entry: Sendable {
        /// `nil` if the provider has no such tile.
        let image: TileImage?
        let at: UInt64

        fileprivate var count: Int { TileCache.entryOverheadBytes + (self.image?.bytes.count ?? 0) }

        fileprivate func isFresh(_ now: UInt64) -> Bool {
            now < self.at + (self.image == nil ? TileCache.absenceSeconds : TileCache.lifetimeSeconds) * 1_000_000_000
        }
    }

    private let maxBytes: Int
    private var young: [Tile: Entry] = [:]
    private var old: [Tile: Entry] = [:]
    private var youngBytes = 0
    private var oldBytes = 0

    /// The current size; never more than `maxBytes`.
    var bytes: Int { self.youngBytes + self.oldBytes }

    init(maxBytes: Int) { self.maxBytes = maxBytes }

    /// Returns the entry of a tile, or `nil` if there is none or it has expired.
    mutating func entry(_ tile: Tile, now: UInt64) -> Entry? {
        if let entry = self.young[tile] { return entry.isFresh(now) ? entry : nil }
        guard let entry = self.old[tile], entry.isFresh(now) else { return nil }
        self.insert(entry, tile)
        return entry
    }

    mutating func insert(_ image: TileImage?, of tile: Tile, now: UInt64) {
        self.insert(Entry(image: image, at: now), tile)
    }

    private mutating func insert(_ entry: Entry, _ tile: Tile) {
        // A tile larger than a generation would evict all others.
        guard entry.count <= self.maxBytes / 2 else { return }
        if let before = self.young.removeValue(forKey: tile) { self.youngBytes -= before.count }
        if let before = self.old.removeValue(forKey: tile) { self.oldBytes -= before.count }
        if self.youngBytes + entry.count > self.maxBytes / 2 {
            (self.old, self.oldBytes) = (self.young, self.youngBytes)
            (self.young, self.youngBytes) = ([:], 0)
        }
        self.young[tile] = entry
        self.youngBytes += entry.count
    }
}
