// Tiles that were asked for lately, in so many bytes: those of a city that everybody looks at are asked for once. Two
// generations: what is asked for is in the young one, and when that is half of all there may be it becomes the old one, whose
// tiles nobody asked for since are forgotten. So no order is kept, and each step costs the same.

internal import Routing

/// What is known of tiles. Times are ns of a clock that never goes back.
struct TileCache: Sendable {
    /// s that a tile is good, and that one is known to be missing.
    static let goodSeconds: UInt64 = 86_400
    static let missingSeconds: UInt64 = 600
    /// Bytes that an entry counts for beside its picture's.
    static let bytesOfEntry = 128

    struct Entry: Sendable {
        /// `nil`: the service has no such tile.
        let image: TileImage?
        let at: UInt64

        fileprivate var count: Int { TileCache.bytesOfEntry + (self.image?.bytes.count ?? 0) }

        fileprivate func isGood(_ now: UInt64) -> Bool {
            now < self.at + (self.image == nil ? TileCache.missingSeconds : TileCache.goodSeconds) * 1_000_000_000
        }
    }

    private let mostBytes: Int
    private var young: [Tile: Entry] = [:]
    private var old: [Tile: Entry] = [:]
    private var youngBytes = 0
    private var oldBytes = 0

    /// Never more than `mostBytes`.
    var bytes: Int { self.youngBytes + self.oldBytes }

    init(mostBytes: Int) { self.mostBytes = mostBytes }

    /// `nil` where nothing (good) is known.
    mutating func entry(_ tile: Tile, now: UInt64) -> Entry? {
        if let entry = self.young[tile] { return entry.isGood(now) ? entry : nil }
        guard let entry = self.old[tile], entry.isGood(now) else { return nil }
        self.keep(entry, tile)
        return entry
    }

    mutating func keep(_ image: TileImage?, of tile: Tile, now: UInt64) {
        self.keep(Entry(image: image, at: now), tile)
    }

    private mutating func keep(_ entry: Entry, _ tile: Tile) {
        // One that fills a generation by itself is not worth all the others.
        guard entry.count <= self.mostBytes / 2 else { return }
        if let before = self.young.removeValue(forKey: tile) { self.youngBytes -= before.count }
        if let before = self.old.removeValue(forKey: tile) { self.oldBytes -= before.count }
        if self.youngBytes + entry.count > self.mostBytes / 2 {
            (self.old, self.oldBytes) = (self.young, self.youngBytes)
            (self.young, self.youngBytes) = ([:], 0)
        }
        self.young[tile] = entry
        self.youngBytes += entry.count
    }
}
