import EnrouteWire
import Testing

@testable import LiveState

/// The scores of geo keys as Redis writes them.
@Suite struct GeoCellTests {
    /// GEOADD of redis 7, then ZSCORE.
    @Test(arguments: [
        (41.9028, 12.4964, UInt64(3_480_343_273_968_262)), (-33.8568, 151.2153, 3_252_046_274_729_663),
        (64.1466, -21.9426, 2_216_643_466_013_004), (-54.8019, -68.303, 650_595_395_073_383),
    ])
    func `a score is the cell of its place`(latitude: Double, longitude: Double, score: UInt64) throws {
        let place = try #require(GeoCell(score)?.center)
        #expect(abs(place.latitude - latitude) < 0.000_01 && abs(place.longitude - longitude) < 0.000_01)
    }

    @Test func `a score with more than 52 bits is not a cell`() {
        #expect(GeoCell(1 << 52) == nil)
        #expect(GeoCell(UInt64.max) == nil)
        #expect(GeoCell((1 << 52) - 1)?.center != nil)
    }
}
