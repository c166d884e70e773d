// Decides which fixes of a log to skip so that the rest is in order of time. A receiver that starts may write one date in the
// far future, and one that loses its signal may repeat an old time.

enum TimeOrder {
    /// Skips as few fixes as possible so that the rest is in order: if one fix is far in the future, it is skipped and not all
    /// that follow. O(n log n).
    ///
    /// - Parameter fixes: in the order of the log.
    /// - Returns: fixes whose times do not decrease.
    static func sorted(_ fixes: [LocatedFix]) -> [LocatedFix] {
        var simple: [LocatedFix] = []
        for located in fixes where located.fix.at >= simple.last?.fix.at ?? .min { simple.append(located) }
        guard simple.count < fixes.count else { return fixes }
        let longest = self.longest(fixes.map(\.fix.at))
        return longest.count > simple.count ? longest.map { fixes[$0] } : simple
    }

    /// The indices of the longest subsequence that does not decrease.
    private static func longest(_ times: [Int64]) -> [Int] {
        // For each length, the index of the earliest time that ends a subsequence of this length.
        var ends: [Int] = []
        var previous = [Int](repeating: -1, count: times.count)
        for (index, time) in times.enumerated() {
            var (low, high) = (0, ends.count)
            while low < high {
                let middle = (low + high) / 2
                if times[ends[middle]] <= time { low = middle + 1 } else { high = middle }
            }
            if low > 0 { previous[index] = ends[low - 1] }
            if low == ends.count { ends.append(index) } else { ends[low] = index }
        }
        var (indices, next): ([Int], Int) = ([], ends.last ?? -1)
        while next >= 0 {
            indices.append(next)
            next = previous[next]
        }
        return indices.reversed()
    }
}
