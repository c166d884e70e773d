import EnrouteWire
import Foundation
import Testing

@Suite struct MemberPathTests {
    private struct Order: Decodable {
        struct Place: Decodable { var lat: Double }
        var places: [Place]?
        var names: [String: Int]?
    }

    @Test(arguments: [
        (#"{"places":[{"lat":1},{"lat":"x"}]}"#, "places[1].lat"), (#"{"places":[7]}"#, "places[0]"),
        (#"{"names":{"7":"x"}}"#, "names.7"), (#"{"places":7}"#, "places"), ("7", ""),
    ])
    func `elements are named by their index, and members by their name, even if it is a number`(
        json: String, path: String
    ) {
        do {
            _ = try JSONDecoder().decode(Order.self, from: Data(json.utf8))
            Issue.record("\(json) is decoded")
        } catch DecodingError.typeMismatch(_, let place) {
            #expect(place.codingPath.memberPath == path)
        } catch {
            Issue.record(error)
        }
    }
}
