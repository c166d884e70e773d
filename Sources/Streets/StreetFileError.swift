// The errors of compiled files, and of the files that they are compiled from.

/// A compiled file that cannot be used.
package enum StreetFileError: Error, Hashable, CustomStringConvertible {
    case unreadable(path: String, reason: String)
    /// The file is of another kind.
    case foreign(path: String)
    /// Compiled by another version of Enroute.
    case otherVersion(path: String, found: UInt32)
    case damaged(path: String, reason: String)

    package var description: String {
        switch self {
        case .unreadable(let path, let reason): "\(path) cannot be read: \(reason)"
        case .foreign(let path):
            "\(path) is not a compiled street file. Create one with: enroute streets build INPUT --output FILE"
        case .otherVersion(let path, let found):
            "\(path) has format \(found), but this version of Enroute reads format \(StreetFile.version). "
                + "Compile it again with: enroute streets build INPUT --output FILE"
        case .damaged(let path, let reason):
            "\(path) is damaged: \(reason). Copy it again, or compile it again with: enroute streets build"
        }
    }
}

/// An input that cannot be compiled.
package enum StreetInputError: Error, Hashable, CustomStringConvertible {
    case unreadable(path: String, reason: String)
    /// Neither an OpenStreetMap extract nor GeoJSON.
    case unknownFormat(path: String)
    /// - Parameter offset: in bytes; `nil` if the reason contains the place.
    case malformed(path: String, offset: Int?, reason: String)
    /// The extract requires a feature that this reader does not support.
    case unsupported(path: String, feature: String)
    case noStreets
    /// The extracts have streets, but none of the coordinates of their nodes.
    case noCoordinates(paths: [String])
    case tooLarge(reason: String)
    case unwritable(path: String, reason: String)

    package var description: String {
        switch self {
        case .unreadable(let path, let reason): "\(path) cannot be read: \(reason)"
        case .unknownFormat(let path):
            "\(path) has an unknown format. Use an OpenStreetMap extract (.osm.pbf) or GeoJSON (.geojson, .json, also .gz)"
        case .malformed(let path, let offset, let reason):
            "\(path) is malformed\(offset.map { " at byte \($0)" } ?? ""): \(reason)"
        case .unsupported(let path, let feature):
            "\(path) uses \"\(feature)\", which Enroute does not read. Convert it with: osmium cat FILE -o streets.osm.pbf"
        case .noStreets: "the input contains no streets: no line that somebody may travel on"
        case .noCoordinates(let paths):
            "\(paths.joined(separator: ", ")): the streets have no coordinates, because their nodes are missing. Use an extract "
                + "with nodes, for instance of: osmium extract --strategy complete_ways"
        case .tooLarge(let reason): "the input is too large: \(reason). Cut out the area of the deliveries first"
        case .unwritable(let path, let reason): "\(path) cannot be written: \(reason)"
        }
    }
}
