// Compiles GeoJSON files and OpenStreetMap extracts into one street file.

internal import Foundation
internal import Gzip

package enum StreetCompiler {
    /// The contents of a compiled file.
    package struct Summary: Sendable, Hashable {
        package var nodes = 0
        /// Directed edges: a street for both directions counts twice.
        package var edges = 0
        package var shapePoints = 0
        package var names = 0
        package var bytes = 0
    }

    /// The attribution of extracts.
    private static let osmAttribution = "© OpenStreetMap contributors (ODbL)"
    /// Maximum size of a GeoJSON file, unpacked: it is read into memory.
    private static let maxGeoJSONBytes = 1 << 30

    /// Reads the inputs and writes the compiled file. It replaces a file at `output` only when it is complete, and keeps its
    /// permissions.
    ///
    /// - Parameters:
    ///   - inputs: paths of `.osm.pbf`, `.geojson` and `.json` files, the last two also with `.gz`. Streets of different
    ///     extracts are joined at common nodes, those of different GeoJSON files at common coordinates.
    ///   - progress: called with a line of text.
    package static func compile(
        inputs: [String], output: String, progress: (String) -> Void = { _ in }
    ) throws(StreetInputError) -> Summary {
        let target = try StreetOutput(path: output, inputs: inputs)
        var ways = StreetWays()
        var extracts: [OSMExtract] = []
        for path in inputs {
            let before = ways.ways.count
            if let extract = try self.read(path, into: &ways, progress) { extracts.append(extract) }
            progress("\(path): \(ways.ways.count - before) streets")
        }
        guard !ways.ways.isEmpty else { throw .noStreets }
        var places = try self.places(of: ways, extracts)
        progress("\(places.keys.count) points")
        var network = try NetworkBuilder.build(ways, &places)
        progress("\(network.nodes.count) nodes, \(network.halves.count) directed edges")
        for line in network.gaps.lines { progress(line) }
        if let line = self.restrictions(of: ways, unclear: network.unclearRestrictions) { progress(line) }
        network.markConnected()
        network.selectLandmarks(count: Landmarks.usualCount)
        progress("\(network.landmarkCount) landmarks for each kind of travel")
        let bytes = network.file(attribution: ways.attributions.joined(separator: ", "), names: ways.names.names)
        try target.write(bytes)
        return Summary(
            nodes: network.nodes.count, edges: network.halves.count, shapePoints: network.shapes.count,
            names: ways.names.names.count - 1, bytes: bytes.count)
    }

    /// Reads the streets of an input.
    ///
    /// - Returns: the extract, whose nodes have not been read yet; `nil` for GeoJSON.
    private static func read(
        _ path: String, into ways: inout StreetWays, _ progress: (String) -> Void
    ) throws(StreetInputError) -> OSMExtract? {
        let file: MappedFile
        do { file = try MappedFile(path: path) } catch { throw .unreadable(path: path, reason: error.reason) }
        guard !OSMExtract.isExtract(file.bytes) else {
            let extract = OSMExtract(file, path: path)
            try self.readWays(extract, into: &ways)
            ways.add(attribution: self.osmAttribution)
            return extract
        }
        let ignored = try GeoJSONInput.read(try self.text(of: file, path: path), path: path, into: &ways)
        if ignored > 0 {
            progress(
                "warning: \(path): positions that were ignored, because they are not longitude and latitude in "
                    + "degrees (WGS 84): \(ignored). Convert projected coordinates first")
        }
        return nil
    }

    /// Finds the coordinates of all points: those of GeoJSON follow from their keys, those of extracts are read.
    private static func places(of ways: StreetWays, _ extracts: [OSMExtract]) throws(StreetInputError) -> NodePlaces {
        var places = NodePlaces(of: ways)
        for index in places.keys.indices {
            guard let point = GeoJSONInput.point(places.keys[index]) else { break }
            places.set(index, point)
        }
        for extract in extracts { try self.readNodes(extract, into: &places) }
        // Keys of extracts are positive, so they are at the end.
        if let last = places.keys.last, last >= 0, !places.hasExtractPoints {
            throw .noCoordinates(paths: extracts.map(\.path))
        }
        return places
    }

    /// Describes how many turn restrictions were read and ignored; `nil` if there are none.
    private static func restrictions(of ways: StreetWays, unclear: Set<Int64>) -> String? {
        let (read, ignored) = (
            Set(ways.restrictions.map(\.id)).subtracting(unclear).count, ways.unreadRestrictions.union(unclear).count
        )
        guard read + ignored > 0 else { return nil }
        return
            "\(read) turn restrictions; \(ignored) ignored (they pass along other ways, or refer to missing streets)"
    }

    private static func readWays(_ extract: OSMExtract, into ways: inout StreetWays) throws(StreetInputError) {
        try extract.visitBlocks { block in
            try block.visitWays { id, tags, nodes in
                guard let rule = StreetRule(tags: tags) else { return }
                try ways.add(id: id, rule: rule, name: tags["name"], keys: nodes)
            }
            try block.visitRestrictions { ways.add($0) }
        }
    }

    private static func readNodes(_ extract: OSMExtract, into places: inout NodePlaces) throws(StreetInputError) {
        // Extracts are sorted by id, so the next node is usually near.
        var next = 0
        try extract.visitBlocks { block in
            try block.visitNodes { id, point, marks in
                if next < places.keys.count, next > 0, places.keys[next - 1] < id {
                    if places.keys[next] > id { return }
                    if places.keys[next] < id {
                        next += 1
                        while next < places.keys.count, places.keys[next] < id { next += 1 }
                        guard next < places.keys.count, places.keys[next] == id else { return }
                    }
                } else {
                    guard let index = places.index(of: id) else { return }
                    next = index
                }
                places.set(next, point, marks)
                next += 1
            }
        }
    }

    /// The bytes of a GeoJSON file, unpacked.
    private static func text(of file: MappedFile, path: String) throws(StreetInputError) -> Data {
        if file.bytes.starts(with: [0x1F, 0x8B]) {
            do throws(GzipError) {
                return try GzipReader.unpack(file.bytes, maxBytes: self.maxGeoJSONBytes)
            } catch {
                throw StreetInputError(error, path: path)
            }
        }
        let first = file.bytes.first { ![0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF].contains($0) }
        guard first == UInt8(ascii: "{") else { throw .unknownFormat(path: path) }
        guard file.bytes.count <= self.maxGeoJSONBytes else {
            throw .tooLarge(reason: "\(path) has more than \(self.maxGeoJSONBytes) bytes; use an extract (.osm.pbf)")
        }
        return Data(file.bytes)
    }
}

extension StreetInputError {
    init(_ error: GzipError, path: String) {
        switch error {
        case .damaged(let offset, let reason):
            self = .malformed(path: path, offset: offset, reason: "the gzip data is damaged: \(reason)")
        case .tooLarge(let maxBytes): self = .tooLarge(reason: "\(path) unpacks to more than \(maxBytes) bytes")
        case .outOfMemory: self = .unreadable(path: path, reason: "zlib could not allocate memory")
        }
    }
}
