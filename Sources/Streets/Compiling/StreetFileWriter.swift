// Writes the sections of a network as the bytes of a file.

extension BuiltNetwork {
    /// The complete file.
    ///
    /// - Parameter names: the first is empty.
    func file(attribution: String, names: [String]) -> [UInt8] {
        let (cells, firstCellEdges, cellEdges) = self.grid
        let nameBytes = names.map { Array($0.utf8) }
        var firstNames: [UInt32] = [0]
        for name in nameBytes { firstNames.append((firstNames.last ?? 0) + UInt32(name.count)) }
        let landmarkCosts = TravelKind.allCases.flatMap { kind in
            TravelCosts.fastest(kind).numbers.map(\.bitPattern)
        }
        var writer = StreetFileWriter()
        writer.add(.nodes, self.nodes)
        writer.add(.edges, self.edges)
        writer.add(.firstHalves, self.firstHalves)
        writer.add(.halves, self.halves)
        writer.add(.firstShapes, self.firstShapes)
        writer.add(.shapes, self.shapes)
        writer.add(.edgeNames, self.edgeNames)
        writer.add(.firstNames, firstNames)
        writer.add(.names, nameBytes.flatMap(\.self))
        writer.add(.cells, cells)
        writer.add(.firstCellEdges, firstCellEdges)
        writer.add(.cellEdges, cellEdges)
        writer.add(.landmarkUnits, self.landmarkUnits)
        writer.add(.landmarkCosts, landmarkCosts)
        writer.add(.landmarks, self.landmarks)
        writer.add(.attribution, Array(attribution.utf8))
        writer.add(.copies, self.copies)
        return writer.finish()
    }

    /// The streets by the cells of the grid that they cross.
    private var grid: (cells: [UInt64], first: [UInt32], edges: [UInt32]) {
        var entries: [(cell: UInt64, edge: UInt32)] = []
        for edge in self.streets {
            var seen: Set<UInt64> = []
            let line = self.line(of: edge)
            for (a, b) in zip(line, line.dropFirst()) {
                GridCell.visit(a, b) { cell in
                    if seen.insert(cell).inserted { entries.append((cell, UInt32(edge))) }
                }
            }
        }
        entries.sort { $0 < $1 }
        var (cells, first): ([UInt64], [UInt32]) = ([], [])
        for (index, entry) in entries.enumerated() where entry.cell != cells.last {
            cells.append(entry.cell)
            first.append(UInt32(index))
        }
        return (cells, first + [UInt32(entries.count)], entries.map(\.edge))
    }
}

/// Collects sections. This machine is little endian; `StreetGraph` checks that when it opens a file.
struct StreetFileWriter {
    private var table: [(section: StreetSection, offset: Int, count: Int)] = []
    private var body: [UInt8] = []
    /// The table is as long as its number of sections requires.
    private static let bodyStart =
        (StreetFile.headerBytes + StreetSection.allCases.count * StreetFile.entryBytes + StreetFile.alignment - 1)
        / StreetFile.alignment * StreetFile.alignment

    mutating func add<Element>(_ section: StreetSection, _ elements: [Element]) {
        precondition(MemoryLayout<Element>.stride == section.elementBytes)
        let rest = self.body.count % StreetFile.alignment
        if rest > 0 { self.body += [UInt8](repeating: 0, count: StreetFile.alignment - rest) }
        self.table.append((section, Self.bodyStart + self.body.count, elements.count))
        elements.withUnsafeBytes { self.body += $0 }
    }

    func finish() -> [UInt8] {
        var entries: [UInt8] = []
        for entry in self.table {
            Self.append(entry.section.rawValue, to: &entries)
            Self.append(UInt32(entry.section.elementBytes), to: &entries)
            Self.append(UInt64(entry.offset), to: &entries)
            Self.append(UInt64(entry.count), to: &entries)
        }
        entries += [UInt8](repeating: 0, count: Self.bodyStart - StreetFile.headerBytes - entries.count)
        let content = entries + self.body
        var file = StreetFile.magic
        Self.append(StreetFile.version, to: &file)
        Self.append(UInt32(self.table.count), to: &file)
        Self.append(UInt64(StreetFile.headerBytes + content.count), to: &file)
        Self.append(content.withUnsafeBytes { StreetFile.checksum($0) }, to: &file)
        Self.append(UInt32(0), to: &file)
        return file + content
    }

    private static func append(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
    }
}
