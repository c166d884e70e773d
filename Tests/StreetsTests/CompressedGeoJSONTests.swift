import Foundation
import Gzip
import TestSupport
import Testing

@testable import Streets

@Suite struct CompressedGeoJSONTests {
    @Test func `a compressed GeoJSON file with several members is compiled as a whole`() throws {
        let folder = try TemporaryPlace()
        let town = try Town.geoJSON(Town.random(seed: 2, rows: 4, columns: 4))
        let plain = try folder.write("town.geojson", town)
        let half = town.count / 2
        let packed = try folder.write(
            "town.geojson.gz", gzipped(town.prefix(half)) + gzipped(Data(town.dropFirst(half))))
        #expect(
            try StreetCompiler.compile(inputs: [packed], output: folder.file("a"))
                == StreetCompiler.compile(inputs: [plain], output: folder.file("b")))
    }

    @Test func `a compressed file that is damaged or truncated is refused with its path and the place`() throws {
        let folder = try TemporaryPlace()
        let one = gzipped(try Town.geoJSON(Town.random(seed: 2, rows: 2, columns: 2)))
        for (end, offset) in [(Data([1, 2, 3]), nil), (one.dropLast(), 2 * one.count - 1)] as [(Data, Int?)] {
            let path = try folder.write("town.geojson.gz", one + end)
            #expect {
                _ = try StreetCompiler.compile(inputs: [path], output: folder.file("a"))
            } throws: {
                guard case .malformed(path, let place?, let reason) = $0 as? StreetInputError else { return false }
                return place >= one.count && place == offset ?? place
                    && reason.hasPrefix("the gzip data is damaged: ")
            }
        }
    }

    @Test func `a file that unpacks to too much is reported with its path`() {
        #expect(
            StreetInputError(.tooLarge(maxBytes: 5), path: "a.gz")
                == .tooLarge(reason: "a.gz unpacks to more than 5 bytes"))
    }
}
