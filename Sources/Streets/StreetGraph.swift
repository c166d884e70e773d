// A compiled file as typed sections. Everything that is used as an index later is checked when the file is opened.

/// The sections of an open file. Thread-safe, because nothing changes them.
final class StreetGraph: Sendable {
    private let file: MappedFile

    nonisolated(unsafe) let nodes: UnsafeBufferPointer<StreetPoint>
    nonisolated(unsafe) let edges: UnsafeBufferPointer<EdgeRecord>
    nonisolated(unsafe) let copies: UnsafeBufferPointer<UInt32>
    nonisolated(unsafe) let firstHalves: UnsafeBufferPointer<UInt32>
    nonisolated(unsafe) let halves: UnsafeBufferPointer<UInt32>
    nonisolated(unsafe) let firstShapes: UnsafeBufferPointer<UInt32>
    nonisolated(unsafe) let shapes: UnsafeBufferPointer<StreetPoint>
    nonisolated(unsafe) let edgeNames: UnsafeBufferPointer<UInt32>
    nonisolated(unsafe) let firstNames: UnsafeBufferPointer<UInt32>
    nonisolated(unsafe) let nameBytes: UnsafeBufferPointer<UInt8>
    nonisolated(unsafe) let cells: UnsafeBufferPointer<UInt64>
    nonisolated(unsafe) let firstCellEdges: UnsafeBufferPointer<UInt32>
    nonisolated(unsafe) let cellEdges: UnsafeBufferPointer<UInt32>
    nonisolated(unsafe) let landmarkUnits: UnsafeBufferPointer<UInt32>
    nonisolated(unsafe) let landmarkCosts: UnsafeBufferPointer<UInt32>
    nonisolated(unsafe) let landmarks: UnsafeBufferPointer<UInt16>
    let landmarksPerKind: Int
    let attribution: String

    /// In a search, numbers of half edges from this one on have another meaning.
    static let maxHalves: UInt32 = 0xFFFF_FF00

    /// - Throws: `unreadable`, `foreign`, `otherVersion`, `damaged`.
    init(path: String) throws(StreetFileError) {
        #if _endian(big)
            throw .unreadable(path: path, reason: "this machine is big endian")
        #endif
        let file: MappedFile
        do { file = try MappedFile(path: path) } catch { throw .unreadable(path: path, reason: error.reason) }
        self.file = file
        let sections = try SectionTable(file.bytes, path: path)
        func damaged(_ reason: String) -> StreetFileError { .damaged(path: path, reason: reason) }

        self.nodes = sections.section(.nodes)
        self.edges = sections.section(.edges)
        self.copies = sections.section(.copies)
        self.firstHalves = sections.section(.firstHalves)
        self.halves = sections.section(.halves)
        self.firstShapes = sections.section(.firstShapes)
        self.shapes = sections.section(.shapes)
        self.edgeNames = sections.section(.edgeNames)
        self.firstNames = sections.section(.firstNames)
        self.nameBytes = sections.section(.names)
        self.cells = sections.section(.cells)
        self.firstCellEdges = sections.section(.firstCellEdges)
        self.cellEdges = sections.section(.cellEdges)
        self.landmarkUnits = sections.section(.landmarkUnits)
        self.landmarkCosts = sections.section(.landmarkCosts)
        self.landmarks = sections.section(.landmarks)
        let attribution: UnsafeBufferPointer<UInt8> = sections.section(.attribution)
        self.attribution = String(decoding: attribution, as: UTF8.self)

        let kinds = TravelKind.allCases.count
        let streetCount = self.edges.count - self.copies.count
        guard !self.nodes.isEmpty, streetCount > 0, self.edges.count < Self.maxHalves / 2 else {
            throw damaged("it has no streets, or too many")
        }
        guard Self.areStarts(self.firstHalves, of: self.nodes.count, upTo: self.halves.count),
            Self.areStarts(self.firstShapes, of: streetCount, upTo: self.shapes.count),
            Self.areStarts(self.firstCellEdges, of: self.cells.count, upTo: self.cellEdges.count),
            self.edgeNames.count == streetCount, self.firstNames.count > 1,
            Self.areStarts(self.firstNames, of: self.firstNames.count - 1, upTo: self.nameBytes.count),
            self.landmarkUnits.count == kinds, self.landmarkCosts.count == kinds * TravelCosts.numberCount,
            self.landmarks.count % (kinds * 2 * self.nodes.count) == 0
        else { throw damaged("its sections do not fit together") }
        self.landmarksPerKind = self.landmarks.count / (kinds * 2 * self.nodes.count)
        guard self.landmarksPerKind <= Landmarks.maxCount else { throw damaged("it has too many landmarks") }

        let (nodeCount, edgeCount) = (UInt32(self.nodes.count), UInt32(self.edges.count))
        guard self.edges.allSatisfy({ $0.from < nodeCount && $0.to < nodeCount }),
            self.halves.allSatisfy({ $0 >> 1 < edgeCount }), self.cellEdges.allSatisfy({ $0 < UInt32(streetCount) }),
            self.edgeNames.allSatisfy({ $0 < self.firstNames.count - 1 }), self.nodes.allSatisfy(\.isValid),
            self.shapes.allSatisfy(\.isValid), self.copies.allSatisfy({ $0 < UInt32(streetCount) })
        else { throw damaged("it refers to streets that it does not contain") }
    }

    /// The number of edges that are streets. The ones that follow are copies.
    var streetCount: Int { self.edges.count - self.copies.count }

    /// Returns the street itself, or the street that an edge is a copy of.
    @inline(__always)
    func street(_ edge: Int) -> Int { edge < self.streetCount ? edge : Int(self.copies[edge - self.streetCount]) }

    /// The copies of a street.
    func copies(of street: Int) -> some Sequence<Int> {
        var (low, high) = (0, self.copies.count)
        while low < high {
            let middle = (low + high) / 2
            if self.copies[middle] < street { low = middle + 1 } else { high = middle }
        }
        return self.copies[low...].indices.lazy.prefix { self.copies[$0] == street }.map { self.streetCount + $0 }
    }

    /// Whether these are the ascending starts of `count` ranges, the last of which ends at `end`.
    private static func areStarts(_ starts: UnsafeBufferPointer<UInt32>, of count: Int, upTo end: Int) -> Bool {
        guard starts.count == count + 1, starts[0] == 0, Int(starts[count]) == end else { return false }
        for index in 0..<count where starts[index] > starts[index + 1] { return false }
        return true
    }
}

/// The table of sections, checked against the size of the file.
private struct SectionTable {
    private var found: [StreetSection: UnsafeRawBufferPointer] = [:]

    init(_ bytes: UnsafeRawBufferPointer, path: String) throws(StreetFileError) {
        func number32(_ offset: Int) -> UInt32 { bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
        func number64(_ offset: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
        func damaged(_ reason: String) -> StreetFileError { .damaged(path: path, reason: reason) }
        guard bytes.count >= StreetFile.magic.count,
            bytes.prefix(StreetFile.magic.count).elementsEqual(StreetFile.magic)
        else { throw .foreign(path: path) }
        guard bytes.count >= StreetFile.headerBytes else { throw damaged("it is truncated") }
        guard number32(8) == StreetFile.version else { throw .otherVersion(path: path, found: number32(8)) }
        guard number64(16) == UInt64(bytes.count) else {
            throw damaged("it should have \(number64(16)) bytes, but has \(bytes.count)")
        }
        guard StreetFile.checksum(UnsafeRawBufferPointer(rebasing: bytes[StreetFile.headerBytes...])) == number32(24)
        else { throw damaged("its checksum is wrong") }
        let sectionCount = Int(number32(12))
        guard sectionCount == StreetSection.allCases.count,
            bytes.count >= StreetFile.headerBytes + sectionCount * StreetFile.entryBytes
        else { throw damaged("its table of sections is too long or too short") }
        for index in 0..<sectionCount {
            let entry = StreetFile.headerBytes + index * StreetFile.entryBytes
            guard let section = StreetSection(rawValue: number32(entry)) else { continue }
            let (offset, count) = (number64(entry + 8), number64(entry + 16))
            let (size, overflows) = count.multipliedReportingOverflow(by: UInt64(section.elementBytes))
            guard !overflows, number32(entry + 4) == section.elementBytes, offset % UInt64(StreetFile.alignment) == 0,
                offset <= UInt64(bytes.count), size <= UInt64(bytes.count) - offset
            else { throw damaged("section \(section.rawValue) is outside of the file") }
            self.found[section] = UnsafeRawBufferPointer(rebasing: bytes[Int(offset)..<Int(offset + size)])
        }
        for section in StreetSection.allCases where self.found[section] == nil {
            throw damaged("section \(section.rawValue) is missing")
        }
    }

    /// The elements of a section. Its size is a multiple of theirs, and its start is aligned.
    func section<Element>(_ section: StreetSection) -> UnsafeBufferPointer<Element> {
        guard let bytes = self.found[section], !bytes.isEmpty else { return UnsafeBufferPointer(start: nil, count: 0) }
        return bytes.bindMemory(to: Element.self)
    }
}
