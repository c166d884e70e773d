// A grid of cells with the edges that cross each of them, to find the streets near a place. Only cells with streets are
// stored, so an extract may have streets far apart.

/// The cells of the earth, 0.0025 degrees wide: 278 m from south to north.
enum GridCell {
    static let perDegree = 400.0
    private static let rowShift: UInt64 = 32

    static func row(_ latitude: Double) -> Int { Int(((latitude + 90) * self.perDegree).rounded(.down)) }
    static func column(_ longitude: Double) -> Int { Int(((longitude + 180) * self.perDegree).rounded(.down)) }

    /// The key of a cell. Cells of a row have consecutive keys.
    static func key(row: Int, column: Int) -> UInt64 {
        UInt64(max(0, row)) << self.rowShift | UInt64(max(0, column))
    }

    /// Calls `body` with the cells that a line from `a` to `b` crosses, and possibly with some beside them.
    static func visit(_ a: StreetPoint, _ b: StreetPoint, _ body: (UInt64) -> Void) {
        let perDegree = StreetPoint.perDegree
        let north: Double = abs(Double(b.latitude) - Double(a.latitude))
        let east: Double = abs(Double(b.longitude) - Double(a.longitude))
        let degrees: Double = Swift.max(north, east) / perDegree
        let steps = Swift.max(1, Int((degrees * self.perDegree * 2).rounded(.up)))
        var from = a
        for step in 1...steps {
            let to = a.toward(b, Double(step) / Double(steps))
            let rows = [from, to].map { self.row(Double($0.latitude) / perDegree) }.sorted()
            let columns = [from, to].map { self.column(Double($0.longitude) / perDegree) }.sorted()
            for row in rows[0]...rows[1] {
                for column in columns[0]...columns[1] { body(self.key(row: row, column: column)) }
            }
            from = to
        }
    }
}

extension StreetGraph {
    /// Calls `body` with each edge that crosses a cell near `place`, with some of them several times.
    ///
    /// - Parameter meters: at most `maxMeters`.
    func visitEdges(near plane: LocalPlane, within meters: Double, _ body: (Int) -> Void) {
        let size = plane.degrees(min(meters, Self.maxMeters))
        let (latitude, longitude) = (
            Double(plane.origin.latitude) / StreetPoint.perDegree,
            Double(plane.origin.longitude) / StreetPoint.perDegree
        )
        // Near the poles a row would contain all columns.
        let width = min(size.longitude, Self.maxDegrees)
        let columns = (GridCell.column(longitude - width), GridCell.column(longitude + width))
        for row in GridCell.row(latitude - size.latitude)...GridCell.row(latitude + size.latitude) {
            let end = GridCell.key(row: row, column: columns.1)
            var cell = self.firstCell(from: GridCell.key(row: row, column: columns.0))
            while cell < self.cells.count, self.cells[cell] <= end {
                for index in Int(self.firstCellEdges[cell])..<Int(self.firstCellEdges[cell + 1]) {
                    body(Int(self.cellEdges[index]))
                }
                cell += 1
            }
        }
    }

    /// Meters. The maximum distance for a search of streets near a place.
    static let maxMeters = 2_000.0
    private static let maxDegrees = 0.25

    private func firstCell(from key: UInt64) -> Int {
        var (low, high) = (0, self.cells.count)
        while low < high {
            let middle = (low + high) / 2
            if self.cells[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
