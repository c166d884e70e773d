// Compares names, to suggest the one that was probably meant.

extension String {
    /// The Levenshtein distance: the number of characters to add, remove or change. Cost: O(product of the lengths).
    func editDistance(to text: String) -> Int {
        let (one, other) = (Array(self.utf8), Array(text.utf8))
        var row = Array(0...other.count)
        for (index, byte) in one.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in other.indices {
                let change = diagonal + (byte == other[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = Swift.min(change, row[column] + 1, row[column + 1] + 1)
            }
        }
        return row[other.count]
    }

    /// The most similar of these names; `nil` if none is similar.
    func nearest(of names: [String]) -> String? {
        // Ids usually differ in their digits, so only small differences count.
        let best = names.map { (name: $0, distance: self.editDistance(to: $0)) }.min {
            ($0.distance, $0.name) < ($1.distance, $1.name)
        }
        guard let best, best.distance <= Swift.max(1, Swift.min(3, self.utf8.count / 4)) else { return nil }
        return best.name
    }
}
