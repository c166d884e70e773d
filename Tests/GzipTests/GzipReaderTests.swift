import Foundation
import Gzip
import TestSupport
import Testing

@Suite struct GzipReaderTests {
    private static let text = Data("{\"type\":\"FeatureCollection\",\"features\":[]}".utf8)

    private static func unpack(_ data: Data, maxBytes: Int = 10_000_000) throws -> Data {
        try GzipReader.unpack(data, maxBytes: maxBytes)
    }

    @Test func `all members are read, and zeros at the end are not part of the data`() throws {
        // bgzip writes small members, and an empty one at the end.
        let (first, second, empty) = (
            gzipped(Self.text.prefix(10)), gzipped(Data(Self.text.dropFirst(10))), gzipped(Data())
        )
        for members in [first + second, first + empty + second, first + second + empty] {
            for end in [0, 1, 512, 10_000, 100_000] {
                #expect(try Self.unpack(members + Data(count: end)) == Self.text)
            }
        }
        #expect(try Self.unpack(empty) == Data())
    }

    @Test func `data that is larger than the pieces in which it is unpacked is read as a whole`() throws {
        var generator = SeededGenerator(seed: 7)
        let noise = Data((0..<1_000_000).map { _ in UInt8.random(in: 0...255, using: &generator) })
        for data in [noise, Data(count: 1 << 18), Data(count: 1_000_000)] {
            #expect(try Self.unpack(gzipped(data) + gzipped(data)) == data + data)
        }
    }

    @Test func `input other than whole members is refused with the offset of the first bad byte`() throws {
        let one = gzipped(Self.text)
        // Without an offset, the reason is zlib's.
        let cases: [(start: Data, end: Data, offset: Int?)] = [
            (Data(), Data(), 0), (Data(), one.dropLast(), one.count - 1), (one, one.dropLast(), 2 * one.count - 1),
            (Data(), one.dropLast(20), one.count - 20), (one, Data([0x1F]), one.count + 1),
            (one, Data([1]), one.count + 1), (Data(), Data("not gzip".utf8), nil), (one, Data([1, 2, 3]), nil),
            (one, Data(count: 3) + one, nil),
        ]
        for (start, end, offset) in cases {
            #expect {
                _ = try Self.unpack(start + end)
            } throws: {
                guard case .damaged(let place, let reason) = $0 as? GzipError else { return false }
                return place >= start.count && place == offset ?? place
                    && (reason == "the data is truncated") == (offset != nil)
            }
        }
    }

    @Test func `a small file that unpacks to too much is refused, also when only all members together do`() throws {
        let zeros = gzipped(Data(count: 4_000_000))
        #expect(zeros.count < 10_000)
        #expect(throws: GzipError.tooLarge(maxBytes: 1_000_000)) { try Self.unpack(zeros, maxBytes: 1_000_000) }
        let one = gzipped(Self.text)
        #expect(throws: GzipError.tooLarge(maxBytes: Self.text.count)) {
            try Self.unpack(one + one, maxBytes: Self.text.count)
        }
        #expect(try Self.unpack(one, maxBytes: Self.text.count) == Self.text)
    }
}
