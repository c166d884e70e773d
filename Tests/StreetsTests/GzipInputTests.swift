import CZlib
import Foundation
import Testing

@testable import Streets

/// Compressed GeoJSON.
@Suite struct GzipInputTests {
    private static let text = Data("{\"type\":\"FeatureCollection\",\"features\":[]}".utf8)

    /// One member of a gzip file.
    private static func gzip(_ data: Data) -> Data {
        var stream = z_stream()
        deflateInit2_(
            &stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        defer { deflateEnd(&stream) }
        var input = [UInt8](data)
        var output = [UInt8](repeating: 0, count: data.count + 1000)
        let count = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                (stream.next_in, stream.avail_in) = (input.baseAddress, uInt(input.count))
                (stream.next_out, stream.avail_out) = (output.baseAddress, uInt(output.count))
                deflate(&stream, Z_FINISH)
                return output.count - Int(stream.avail_out)
            }
        }
        return Data(output[..<count])
    }

    private static func unpack(_ data: Data, maxBytes: Int = 1_000_000) throws -> Data {
        try data.withUnsafeBytes { try GzipInput.unpack($0, path: "a.gz", maxBytes: maxBytes) }
    }

    @Test func `all members are read, and zeros at the end are not part of the text`() throws {
        // bgzip writes small members, and an empty one at the end.
        let members = [Self.text.prefix(10), Self.text.dropFirst(10), Data()].map { Self.gzip(Data($0)) }
        for end in [0, 1, 512, 100_000] {
            #expect(try Self.unpack(Data(members.joined()) + Data(count: end)) == Self.text)
        }
    }

    @Test func `a later member that is damaged, truncated or too large is refused`() throws {
        let one = Self.gzip(Self.text)
        for (end, offset) in [
            (Data([1, 2, 3]), nil), (one.dropLast(), 2 * one.count - 1), (Data(count: 5) + one, nil),
        ] {
            #expect {
                _ = try Self.unpack(one + end)
            } throws: {
                guard case .malformed("a.gz", let place?, _) = $0 as? StreetInputError else { return false }
                return place >= one.count && place == offset ?? place
            }
        }
        #expect(throws: StreetInputError.tooLarge(reason: "a.gz unpacks to more than \(Self.text.count) bytes")) {
            _ = try Self.unpack(one + one, maxBytes: Self.text.count)
        }
    }

    @Test func `a compressed GeoJSON file with several members is compiled as a whole`() throws {
        let folder = try TemporaryPlace()
        let town = try Town.geoJSON(Town.random(seed: 2, rows: 4, columns: 4))
        let plain = try folder.write("town.geojson", town)
        let half = town.count / 2
        let packed = try folder.write(
            "town.geojson.gz", Self.gzip(town.prefix(half)) + Self.gzip(Data(town.dropFirst(half))))
        #expect(
            try StreetCompiler.compile(inputs: [packed], output: folder.file("a"))
                == StreetCompiler.compile(inputs: [plain], output: folder.file("b")))
    }
}
