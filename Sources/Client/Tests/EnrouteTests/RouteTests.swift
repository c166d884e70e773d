// The remaining route as apps receive it: decoded, or ignored if it is malformed.

import Foundation
import Testing

@testable import Enroute

/// The route in an arrival time.
@Suite struct RouteTests {
    private static func arrival(route: String) throws -> Arrival {
        let text = #"{"state":"ok","arrivesAt":1795249337630,"seconds":720,"at":1795248617630,"route":\#(route)}"#
        return try JSONDecoder().decode(WireArrival.self, from: Data(text.utf8)).arrival
    }

    @Test func `a route is decoded as Google describes it`() throws {
        let route = try #require(
            try Self.arrival(route: #"{"polyline":"_p~iF~ps|U_ulLnnqC_mqNvxq`@","meters":9,"seconds":8,"new":1}"#).route
        )
        #expect(
            route.places == [
                Place(latitude: 38.5, longitude: -120.2), Place(latitude: 40.7, longitude: -120.95),
                Place(latitude: 43.252, longitude: -126.453),
            ])
        #expect(route.meters == 9 && route.seconds == 8)
    }

    @Test(arguments: [
        "null", "7", "{}", #"{"polyline":"??","meters":1,"seconds":1}"#,
        #"{"polyline":"_p~iF","meters":1,"seconds":1}"#,
        #"{"polyline":"_p~iF~ps|U_ulLnnqC"}"#, #"{"polyline":"_p~iF~ps|U_ulLnnqC","meters":-1,"seconds":1}"#,
        #"{"polyline":"~~~~~~~~~~~~~~","meters":1,"seconds":1}"#, #"{"polyline":"é","meters":1,"seconds":1}"#,
    ])
    func `a malformed route is ignored, and the arrival time is kept`(route: String) throws {
        let arrival = try Self.arrival(route: route)
        #expect(arrival.route == nil && arrival.state == .ok && arrival.arrivesAt != nil)
    }
}
