// Selects the entry of a full table that makes room for a new one. Using an entry only sets its time, because entries
// are used far more often than they are added.

internal import NIOCore

/// The least recently used entries of a table whose entries contain the time of their last use. A value.
struct LeastRecentlyUsed<Key: Hashable> {
    /// The keys as of the last sort of the table, the oldest at the end.
    private var oldest: [(key: Key, usedAt: NIODeadline)] = []

    /// Each sort finds one in this many entries of the table.
    private static var share: Int { 8 }

    /// Returns the least recently used key. The caller removes its entry.
    ///
    /// Skips keys that have been used or removed since the last sort. The others are still older than the rest of the
    /// table. A table of n entries is sorted once for at least n / 8 of these calls and uses, so each costs O(log n).
    ///
    /// - Returns: `nil` if the table is empty.
    mutating func next<Entry>(in table: [Key: Entry], by usedAt: (Entry) -> NIODeadline) -> Key? {
        while let entry = self.oldest.popLast() {
            if table[entry.key].map(usedAt) == entry.usedAt { return entry.key }
        }
        let sorted = table.map { (key: $0.key, usedAt: usedAt($0.value)) }.sorted { $0.usedAt > $1.usedAt }
        self.oldest = Array(sorted.suffix(max(1, sorted.count / Self.share)))
        return self.oldest.popLast()?.key
    }
}
