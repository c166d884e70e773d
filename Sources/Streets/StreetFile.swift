// The format of a compiled file: a header, a table of sections, and the sections. All numbers are little endian. README.md
// describes it.

internal import CZlib

/// An edge: a stretch of street between two nodes, for both directions.
struct EdgeRecord: Hashable {
    var from: UInt32
    var to: UInt32
    var centimeters: UInt32
    var rule: UInt32
}

/// The sections of a file by their number, with the bytes of an element.
enum StreetSection: UInt32, CaseIterable {
    /// `StreetPoint` of each node.
    case nodes = 1
    /// `EdgeRecord` of each edge.
    case edges
    /// For each node the index of its first half edge, and their number at the end.
    case firstHalves
    /// Half edges by the node where they start: edge * 2, plus 1 if it is travelled backward.
    case halves
    /// For each street the index of its first shape point, and their number at the end. Both nodes are left out.
    case firstShapes
    /// `StreetPoint`s.
    case shapes
    /// For each street the index of its name.
    case edgeNames
    /// For each name the offset of its first byte, and the number of bytes at the end. Name 0 is empty.
    case firstNames
    /// UTF-8.
    case names
    /// Cells of the grid in ascending order.
    case cells
    /// For each cell the index of its first edge in `cellEdges`, and their number at the end.
    case firstCellEdges
    case cellEdges
    /// For each kind of travel: seconds per unit as the bits of a Float.
    case landmarkUnits
    /// For each kind of travel: `TravelCosts.numbers` as the bits of a Float.
    case landmarkCosts
    /// For each kind, node and landmark: units from the landmark to the node, and from the node to the landmark.
    case landmarks
    /// The attribution that the data's license requires, UTF-8.
    case attribution
    /// The street of each copy, ascending. The last edges are copies of streets, for turn restrictions; they have the shape and
    /// the name of their street.
    case copies

    var elementBytes: Int {
        switch self {
        case .nodes, .shapes, .cells: 8
        case .edges: 16
        case .names, .attribution: 1
        case .landmarks: 2
        default: 4
        }
    }
}

enum StreetFile {
    static let magic: [UInt8] = Array("ENRSTRT\n".utf8)
    static let version: UInt32 = 2
    /// Magic, version, number of sections, bytes of the file, CRC-32 of everything after the header, reserved.
    static let headerBytes = 32
    /// Number, bytes of an element, offset, number of elements.
    static let entryBytes = 24
    /// Sections start at multiples of this.
    static let alignment = 64

    /// The CRC-32 of zlib.
    static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        UInt32(truncatingIfNeeded: crc32_z(0, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count))
    }
}
