// The map of a generated town: its streets by class with invented names, and between them a canal, parks and buildings.

internal import Foundation

extension StreetGrid {
    /// The town as GeoJSON (RFC 7946), longitude first: a LineString for each street, and a Polygon for each area.
    package var geoJSON: String {
        let streets = self.streets.enumerated().map { index, street in
            let isRow = index < self.corners.count
            let place = isRow ? index : index - self.corners.count
            let names = isRow ? Self.rowNames : Self.columnNames
            return Self.feature(
                Self.streetClass(place, of: isRow ? self.corners.count : self.columns), names[place % names.count],
                geometry: "LineString", Self.text(street))
        }
        let areas = self.areas.map { Self.feature($0.class, $0.name, geometry: "Polygon", "[\(Self.text($0.ring))]") }
        return #"{"type":"FeatureCollection","features":[\#((areas + streets).joined(separator: ","))]}"#
    }

    private struct Area {
        var `class`: MapClass
        var name: String?
        var ring: [Place]
    }

    private static let rowNames = [
        "Mill Lane", "Harbour Street", "Weaver Street", "Market Street", "Canal Street", "Orchard Road",
        "Chapel Street",
        "High Street", "Garden Row", "Linden Avenue", "Bakers Row", "Station Road", "School Lane", "Northgate",
    ]
    private static let columnNames = [
        "Westgate", "Foundry Street", "Abbey Road", "Bridge Street", "Poplar Street", "Castle Street", "Kings Avenue",
        "Queens Avenue", "Library Street", "Cherry Walk", "Museum Street", "Park Road", "Rose Street", "Eastgate",
        "Tower Street", "Chestnut Avenue", "Ferry Road", "Tanner Row", "Observatory Lane", "Maple Street",
    ]
    private static let parkNames = ["Meadow Park", "Abbey Gardens", "Kings Park", "Linden Green"]

    private var columns: Int { self.corners.first?.count ?? 0 }

    private static func streetClass(_ place: Int, of count: Int) -> MapClass {
        place == count / 2 ? .major : place % 4 == 1 ? .medium : .minor
    }

    /// One block in eleven is a park; the blocks of one row are crossed by a canal.
    private var areas: [Area] {
        let canal = self.corners.count / 3
        var areas: [Area] = []
        for row in 0..<max(0, self.corners.count - 1) {
            for column in 0..<max(0, self.columns - 1) {
                let block = Block(self.corners, row, column)
                if row == canal {
                    areas.append(Area(class: .water, ring: block.ring(east: 0...1, north: 0.3...0.7)))
                } else if (row * 5 + column * 3) % 11 == 0 {
                    let name = Self.parkNames[(row + column) % Self.parkNames.count]
                    areas.append(
                        Area(class: .park, name: name, ring: block.ring(east: 0.08...0.92, north: 0.08...0.92)))
                } else {
                    areas += block.buildings(seed: UInt64(row * 1_000 + column)).map {
                        Area(class: .building, ring: $0)
                    }
                }
            }
        }
        return areas
    }

    /// The land between four corners.
    private struct Block {
        var southWest, southEast, northWest, northEast: Place

        init(_ corners: [[Place]], _ row: Int, _ column: Int) {
            (self.southWest, self.southEast) = (corners[row][column], corners[row][column + 1])
            (self.northWest, self.northEast) = (corners[row + 1][column], corners[row + 1][column + 1])
        }

        /// - Parameters:
        ///   - east, north: shares of the width and height.
        func place(_ east: Double, _ north: Double) -> Place {
            func between(_ value: KeyPath<Place, Double>) -> Double {
                let south = self.southWest[keyPath: value] * (1 - east) + self.southEast[keyPath: value] * east
                let top = self.northWest[keyPath: value] * (1 - east) + self.northEast[keyPath: value] * east
                return south * (1 - north) + top * north
            }
            return Place(latitude: between(\.latitude), longitude: between(\.longitude))
        }

        func ring(east: ClosedRange<Double>, north: ClosedRange<Double>) -> [Place] {
            let first = self.place(east.lowerBound, north.lowerBound)
            return [
                first, self.place(east.upperBound, north.lowerBound), self.place(east.upperBound, north.upperBound),
                self.place(east.lowerBound, north.upperBound), first,
            ]
        }

        /// Buildings along the two long sides, of different widths.
        func buildings(seed: UInt64) -> [[Place]] {
            var random = SeededGenerator(seed: seed)
            return [0.12...0.42, 0.58...0.88].flatMap { side -> [[Place]] in
                var rings: [[Place]] = []
                var west = 0.1
                while west < 0.78 {
                    let east = min(0.9, west + .random(in: 0.14...0.3, using: &random))
                    let depth = side.lowerBound...(side.upperBound - .random(in: 0...0.1, using: &random))
                    rings.append(self.ring(east: west...east, north: depth))
                    west = east + 0.03
                }
                return rings
            }
        }
    }

    private static func feature(_ class: MapClass, _ name: String?, geometry: String, _ coordinates: String) -> String {
        let name = name.map { #","name":"\#($0)""# } ?? ""
        return #"{"type":"Feature","properties":{"class":"\#(`class`.rawValue)"\#(name)},"#
            + #""geometry":{"type":"\#(geometry)","coordinates":\#(coordinates)}}"#
    }

    private static func text(_ places: [Place]) -> String {
        let pairs = places.map { place in
            "[\(Self.rounded(place.longitude)),\(Self.rounded(place.latitude))]"
        }
        return "[\(pairs.joined(separator: ","))]"
    }

    private static func rounded(_ degrees: Double) -> Double { (degrees * 1_000_000).rounded() / 1_000_000 }
}
