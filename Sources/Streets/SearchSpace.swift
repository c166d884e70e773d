// The memory of one search: a label for each node, and a heap. A stamp identifies labels of earlier searches, so that
// the cost of a search depends on the nodes it visits, not on the size of the city.

#if canImport(Glibc)
    private import Glibc
#else
    private import Darwin
#endif

/// The search's data for one node.
struct SearchLabel {
    var stamp: UInt32
    /// Cost from the start.
    var cost: Float
    /// Lower bound of the cost to the destination.
    var bound: Float
    /// The half edge by which the search reached the node, or `StreetGraph.maxHalves` plus the index of a start.
    var via: UInt32
}

/// Used by one search at a time.
///
/// `@unchecked Sendable`: `StreetNetwork` hands each one to a single search, under a lock.
final class SearchSpace: @unchecked Sendable {
    let labels: UnsafeMutablePointer<SearchLabel>
    private(set) var stamp: UInt32 = 0
    var heap = SearchHeap()
    var visited = 0

    /// - Returns: `nil` if there is not enough memory.
    init?(nodes: Int) {
        // The kernel provides zeroed pages when they are first used.
        guard let memory = calloc(max(1, nodes), MemoryLayout<SearchLabel>.stride) else { return nil }
        self.labels = memory.bindMemory(to: SearchLabel.self, capacity: max(1, nodes))
        self.count = nodes
    }

    private let count: Int

    deinit { free(self.labels) }

    /// Forgets the previous search.
    func begin() {
        self.heap.removeAll()
        if self.stamp == .max {
            for node in 0..<self.count { self.labels[node].stamp = 0 }
            self.stamp = 0
        }
        self.stamp += 1
    }
}

/// A heap with four children per entry. Entries that were replaced by better ones stay in it; the search skips them.
struct SearchHeap {
    /// The key in the upper 32 bits (the bit patterns of non-negative Floats sort like the Floats), the node in the lower
    /// ones.
    private var entries: [UInt64] = []

    mutating func removeAll() { self.entries.removeAll(keepingCapacity: true) }

    mutating func push(_ key: Float, _ node: UInt32) {
        let entry = UInt64(key.bitPattern) << 32 | UInt64(node)
        var index = self.entries.count
        self.entries.append(entry)
        self.entries.withUnsafeMutableBufferPointer { entries in
            while index > 0 {
                let parent = (index - 1) >> 2
                guard entries[parent] > entry else { break }
                entries[index] = entries[parent]
                index = parent
            }
            entries[index] = entry
        }
    }

    mutating func pop() -> (key: Float, node: UInt32)? {
        guard let first = self.entries.first, let last = self.entries.popLast() else { return nil }
        if !self.entries.isEmpty {
            self.entries.withUnsafeMutableBufferPointer { entries in
                var index = 0
                let count = entries.count
                while true {
                    let child = index << 2 + 1
                    guard child < count else { break }
                    var least = child
                    for other in (child + 1)..<max(child + 1, min(child + 4, count))
                    where entries[other] < entries[least] {
                        least = other
                    }
                    guard entries[least] < last else { break }
                    entries[index] = entries[least]
                    index = least
                }
                entries[index] = last
            }
        }
        return (Float(bitPattern: UInt32(first >> 32)), UInt32(truncatingIfNeeded: first))
    }
}
