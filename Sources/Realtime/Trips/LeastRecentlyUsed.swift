// Which entry of a full table makes room for a new one. A use of an entry only sets its time, because uses are far more
// frequent than new entries.

internal import NIOCore

/// The least recently used entries of a table whose entries say when they were last used. A value.
struct LeastRecentlyUsed<Key: Hashable> {
    /// As they were when the table was last sorted, the oldest at the end.
    private var oldest: [(key: Key, usedAt: NIODeadline)] = []

    /// A sort finds one in so many entries of the table.
    private static var share: Int { 8 }

    /// The least recently used key. The caller removes its entry.
    ///
    /// Skips what has been used or removed since the last sort. The others are still older than the rest of the table. A table
    /// of n entries is sorted once for at least n / 8 of these calls and uses, so each costs O(log n).
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
