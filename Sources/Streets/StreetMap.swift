// The streets as GeoJSON for the map of the pages: class, name and line, as `Journeys` writes a map from other files.

extension StreetNetwork {
    /// The maximum size of a map in bytes. A page downloads it once.
    package static let maxMapBytes = 4_000_000

    /// Compact GeoJSON (RFC 7946). If the streets do not fit into `maxBytes`, the lower classes are left out: first paths,
    /// then minor streets.
    package func map(maxBytes: Int = StreetNetwork.maxMapBytes) -> [UInt8] {
        var bytes = Array(#"{"type":"FeatureCollection""#.utf8)
        if !self.attribution.isEmpty { bytes += Array(",\"attribution\":\(Self.quoted(self.attribution))".utf8) }
        bytes += Array(#","features":["#.utf8)
        let end = Array("]}".utf8)
        var isFirst = true
        for known in ["motorway", "major", "medium", "minor", "path"] {
            var features: [UInt8] = []
            for chain in StreetChains(self.graph, class: known).chains {
                if !isFirst || !features.isEmpty { features.append(UInt8(ascii: ",")) }
                self.append(chain, known, to: &features)
                guard bytes.count + features.count + end.count <= maxBytes else { return bytes + end }
            }
            isFirst = isFirst && features.isEmpty
            bytes += features
        }
        return bytes + end
    }

    private func append(_ chain: StreetChains.Chain, _ known: String, to bytes: inout [UInt8]) {
        bytes += Array("{\"type\":\"Feature\",\"properties\":{\"class\":\"\(known)\"".utf8)
        if let name = chain.halves.first.flatMap({ self.graph.name(of: Int($0 >> 1)) }) {
            bytes += Array(",\"name\":\(Self.quoted(name))".utf8)
        }
        bytes += Array("},\"geometry\":{\"type\":\"LineString\",\"coordinates\":[".utf8)
        var last: (Int, Int)?
        for half in chain.halves {
            let line = self.graph.line(of: Int(half >> 1))
            for index in 0..<line.count {
                let point = half & 1 == 0 ? line[index] : line[line.count - 1 - index]
                // Five decimals are a meter, which is less than a pixel.
                let rounded = (Self.rounded(point.longitude), Self.rounded(point.latitude))
                if let last, last == rounded { continue }
                if last != nil { bytes.append(UInt8(ascii: ",")) }
                bytes += Array("[\(Self.decimal(rounded.0)),\(Self.decimal(rounded.1))]".utf8)
                last = rounded
            }
        }
        bytes += Array("]}}".utf8)
    }

    /// Hundred-thousandths of a degree.
    private static func rounded(_ units: Int32) -> Int { Int((Double(units) / 100).rounded()) }

    private static func decimal(_ value: Int) -> String { String(Double(value) / 100_000) }

    /// A JSON string.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            default: if scalar.value >= 0x20 { quoted.unicodeScalars.append(scalar) }
            }
        }
        return quoted + "\""
    }
}

/// The edges of a class, joined into lines where they have the same name.
private struct StreetChains {
    struct Chain {
        var halves: [UInt32]
    }

    private(set) var chains: [Chain] = []

    init(_ graph: StreetGraph, class known: String) {
        var isOpen = graph.edges.indices.map {
            $0 < graph.streetCount && StreetRule(bits: graph.edges[$0].rule).road.mapClass == known
        }
        func next(from node: UInt32, name: UInt32) -> UInt32? {
            for index in Int(graph.firstHalves[Int(node)])..<Int(graph.firstHalves[Int(node) + 1]) {
                let half = graph.halves[index]
                if isOpen[Int(half >> 1)], graph.edgeNames[Int(half >> 1)] == name { return half }
            }
            return nil
        }
        for edge in graph.edges.indices where isOpen[edge] {
            isOpen[edge] = false
            let name = graph.edgeNames[edge]
            var ahead = [UInt32(edge) << 1]
            var node = graph.edges[edge].to
            while let half = next(from: node, name: name) {
                isOpen[Int(half >> 1)] = false
                ahead.append(half)
                node = half & 1 == 0 ? graph.edges[Int(half >> 1)].to : graph.edges[Int(half >> 1)].from
            }
            var behind: [UInt32] = []
            node = graph.edges[edge].from
            while let half = next(from: node, name: name) {
                isOpen[Int(half >> 1)] = false
                behind.append(half ^ 1)
                node = half & 1 == 0 ? graph.edges[Int(half >> 1)].to : graph.edges[Int(half >> 1)].from
            }
            self.chains.append(Chain(halves: behind.reversed() + ahead))
        }
    }
}
