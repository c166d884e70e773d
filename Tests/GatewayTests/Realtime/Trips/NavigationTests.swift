import EnrouteWire
import Foundation
import Routing
import Subprocess
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime
@testable import REST

/// Navigation to the vendor and to the customer in the rider's own navigation app (RDR-014).
@Suite struct NavigationTests {
    private static let iPhone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15"
    private static let pixel = "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 Chrome/130 Mobile"

    /// Every possible form of a link, to the last character.
    private static let forms: [String] = {
        let (lat, lon) = (#"-?[0-9]{1,2}\.[0-9]{6}"#, #"-?[0-9]{1,3}\.[0-9]{6}"#)
        return [
            "comgooglemaps://\\?daddr=\(lat),\(lon)&directionsmode=(driving|bicycling|walking)",
            "google\\.navigation:q=\(lat),\(lon)&mode=[dbw]",
            "https://www\\.google\\.com/maps/dir/\\?api=1&destination=\(lat)%2C\(lon)&travelmode=(driving|bicycling|walking)"
                + "&dir_action=navigate",
            "https://maps\\.apple\\.com/\\?daddr=\(lat),\(lon)(&dirflg=[dw])?",
            "https://waze\\.com/ul\\?ll=\(lat)%2C\(lon)&navigate=yes", "geo:\(lat),\(lon)",
        ]
    }()

    private static func isAllowed(_ url: String) throws -> Bool {
        try Self.forms.contains { url.wholeMatch(of: try Regex($0)) != nil }
    }

    private static func urls(to place: Coordinate, by mode: NavigationMode = .car) -> [String] {
        NavigationApp.allCases.flatMap { app in
            NavigationPlatform.allCases.compactMap { app.url(to: DecimalCoordinate(place), by: mode, on: $0) }
        }
    }

    @Test func `RDR-014: a navigation link contains only six decimals and fixed words for any place`() throws {
        var generator = SystemRandomNumberGenerator()
        var places = [
            (90.0, 180.0), (-90, -180), (0.0000001, 0), (-0.0000004, 1e-7), (41.9, 12.5), (-0.5, -179.9999999),
        ]
        for _ in 0..<300 {
            places.append(
                (.random(in: -90...90, using: &generator), .random(in: -180...180, using: &generator)))
        }
        for (latitude, longitude) in places {
            let place = try #require(Coordinate(latitude: latitude, longitude: longitude))
            let urls = Self.urls(to: place)
            #expect(urls.count == 9)
            for url in urls {
                #expect(try Self.isAllowed(url), "\(url)")
                #expect(url.utf8.allSatisfy { (33...126).contains($0) } && url.utf8.count < 140, "\(url)")
            }
            let decimals = DecimalCoordinate(place)
            #expect(abs((Double(decimals.latitude) ?? 99) - latitude) <= 0.000_000_6)
            #expect(abs((Double(decimals.longitude) ?? 999) - longitude) <= 0.000_000_6)
        }
        #expect(DecimalCoordinate(Coordinate(latitude: -0.5, longitude: 12.5)!).latitude == "-0.500000")
    }

    @Test func `RDR-014: navigation links use decimal points in every locale`() async {
        // In a process of its own, because other tests read the environment that this one changes.
        await #expect(processExitsWith: .success) {
            // Created by this test, because few machines have such a locale.
            let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-locale-\(UUID())")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let locale = folder.appending(path: "de_DE.UTF-8").path
            _ = try await Subprocess.run(
                .path("/usr/bin/localedef"), arguments: ["-i", "de_DE", "-f", "UTF-8", "--no-archive", locale],
                output: .discarded, error: .discarded)
            setenv("LOCPATH", folder.path, 1)
            let comma = try #require(
                newlocale(1 << LC_NUMERIC, "de_DE.UTF-8", nil), "no locale with a comma could be made")
            // Applies to this thread only.
            let before = uselocale(comma)
            defer {
                uselocale(before)
                freelocale(comma)
            }
            var text = [CChar](repeating: 0, count: 16)
            withVaList([1.5]) { _ = vsnprintf(&text, text.count, "%.1f", $0) }
            #expect(text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) } == Array("1,5".utf8))
            for url in NavigationTests.urls(to: try #require(Coordinate(latitude: 41.9028, longitude: -12.4964))) {
                #expect(try NavigationTests.isAllowed(url), "\(url)")
                #expect(url.contains("41.902800") && url.contains("-12.496400"))
            }
        }
    }

    @Test(arguments: Vehicle.allCases) func `D10: links navigate the way that the rider travels`(vehicle: Vehicle)
        throws
    {
        let urls = Self.urls(to: try #require(Coordinate(latitude: 41.9, longitude: 12.5)), by: NavigationMode(vehicle))
        #expect(try urls.allSatisfy { try Self.isAllowed($0) })
        let isByCar = urls.contains { $0.hasSuffix("&mode=d") }
        #expect(isByCar == [.moped, .car, .van, .truck].contains(vehicle))
        #expect(urls.contains { $0.contains("waze.com") } == isByCar)
        #expect(urls.contains { $0.contains("driving") || $0.contains("dirflg=d") } == isByCar)
        #expect(urls.contains { $0.hasSuffix("&mode=w") } == (vehicle == .foot))
        #expect(urls.contains { $0.hasSuffix("&mode=b") } == [.bicycle, .cargoBike].contains(vehicle))
    }

    // MARK: with a gateway

    private static func run(
        _ change: @escaping @Sendable (inout GatewaySettings) -> Void = { _ in },
        _ body: @escaping @Sendable (RunningGateway) async throws -> Void
    ) async throws {
        try await within { try await RunningGateway.run(isSecure: false, change, body) }
    }

    private static func write(_ gateway: RunningGateway, _ vendor: String) async throws {
        let job =
            #"{"kind":"delivery","customer":"anna","rider":"rider-1","destination":{"lat":41.9,"lon":12.5}\#(vendor)}"#
        let answer = try await gateway.rest("PUT", "/api/v1/jobs/order-1", by: "orders", .service, job)
        #expect([200, 201].contains(answer.status), "\(answer)")
    }

    private static func navigate(
        _ gateway: RunningGateway, _ query: String, by rider: String = "rider-1", agent: String = ""
    ) async throws -> RESTResponse {
        try await gateway.rest(
            "GET", "/api/v1/jobs/order-1/navigation?\(query)", by: rider, .rider, headers: ["User-Agent: \(agent)"])
    }

    private static func apps(_ answer: RESTResponse) throws -> [String] {
        try JSONValue(json: Array(answer.text.utf8))["candidates"]?.array?.compactMap { $0["app"]?.text } ?? []
    }

    @Test func `RDR-014 AC-001: links are for the apps of the phone's platform, the default one first`() async throws {
        try await Self.run { gateway in
            try await Self.write(gateway, #","vendor":{"lat":41.8,"lon":12.4,"name":"Da Gino & Söhne"}"#)
            for (query, agent, apps) in [
                ("", Self.iPhone, ["apple", "google", "waze"]), ("", Self.pixel, ["google", "waze", "geo"]),
                ("", "curl/8", ["google", "apple", "waze"]),
                ("&platform=ios", Self.pixel, ["apple", "google", "waze"]),
                ("&platform=android", "", ["google", "waze", "geo"]),
            ] {
                let answer = try await Self.navigate(gateway, "to=vendor\(query)", agent: agent)
                #expect(answer.status == 200)
                #expect(try Self.apps(answer) == apps, "\(agent)")
                #expect(answer.member("to") == "vendor" && answer.member("name") == "Da Gino & Söhne")
                #expect(answer.member("lat") == "41.800000" && answer.member("lon") == "12.400000")
                let urls = answer.text.matches(of: /"(?:ios|android|web)":"([^"]+)"/).map { String($0.1) }
                #expect(!urls.isEmpty)
                for url in urls { #expect(try Self.isAllowed(url), "\(url)") }
            }
            let destination = try await Self.navigate(gateway, "to=destination")
            #expect(destination.member("lat") == "41.900000" && destination.member("name", as: String.self) == nil)
            for query in ["to=home", "to=vendor&platform=windows"] {
                let bad = try await Self.navigate(gateway, query)
                #expect(bad.status == 400)
            }
        }
    }

    @Test func `D10: a rider whose card names a bicycle gets directions for bicycles`() async throws {
        try await Self.run { gateway in
            try await Self.write(gateway, #","vendor":{"lat":41.8,"lon":12.4}"#)
            let rider = #"{"zone":"rome","approved":true,"capacity":3,"card":{"vehicle":"bicycle"}}"#
            let described = try await gateway.rest("PUT", "/api/v1/riders/rider-1", by: "orders", .service, rider)
            #expect([200, 201].contains(described.status), "\(described)")
            let answer = try await Self.navigate(gateway, "to=vendor", agent: Self.pixel)
            #expect(try Self.apps(answer) == ["google", "geo"])
            #expect(answer.text.contains("mode=b") && !answer.text.contains("driving"))
        }
    }

    @Test func `RDR-014 AC-005: without a confirmed place there is no navigation link`() async throws {
        let sentence = "Could not get directions. The vendor address may be incorrect."
        try await ProviderServer.running(ProviderFixtures.mapbox) { server in
            let service = try MapboxGeocoding(key: ProviderKey(ProviderFixtures.keyText)!, url: server.url)
            try await Self.run({ $0.arrivals.geocoding = (service: service, dailyBudget: nil) }) { gateway in
                func refused() async throws {
                    let answer = try await Self.navigate(gateway, "to=vendor")
                    #expect(answer.status == 422 && answer.member("code") == "destination_unresolvable")
                    #expect(answer.member("detail") == sentence && !answer.text.contains("://"))
                }
                try await Self.write(gateway, "")
                try await refused()
                try await Self.write(gateway, #","vendor":{"name":"Da Gino"}"#)
                try await refused()
                try await Self.write(gateway, #","vendor":{"name":"Da Gino","address":"Nowhere 1"}"#)
                try await refused()
                server.behave { question in
                    guard case .json(let json, _, _) = ProviderFixtures.mapbox(question) else { return .hangUp }
                    return .json(json.replacing(#""confidence":"high""#, with: #""confidence":"low""#))
                }
                let address = #""address":"Café Größe 1&2, Wien""#
                try await Self.write(gateway, #","vendor":{"name":"Da Gino","address":"Wien 1"}"#)
                try await refused()
                server.behave(ProviderFixtures.mapbox)
                // A geocoded place is stored, and kept if only the name changes.
                let asked = server.questions.count
                for name in ["Da Gino", "Da Gina"] {
                    try await Self.write(gateway, #","vendor":{"name":"\#(name)",\#(address)}"#)
                    let found = try await Self.navigate(gateway, "to=vendor")
                    #expect(found.status == 200 && found.member("name") == name, "\(found)")
                    #expect(found.member("lat") == "48.235100" && found.member("lon") == "16.413800")
                    // The vendor's rider can read it too.
                    let job = try await gateway.rest("GET", "/api/v1/jobs/order-1", by: "rider-1", .rider)
                    #expect(job.member("vendor") == name && job.member("vendorAddress") == "Café Größe 1&2, Wien")
                    let seen = try await gateway.rest("GET", "/api/v1/jobs/order-1", by: "anna", .customer)
                    #expect(seen.member("vendor") == name && !seen.text.contains("Wien"))
                }
                #expect(server.questions.count == asked + 1)
            }
        }
    }

    @Test func `only the job's rider gets navigation links, and only until the job ends`() async throws {
        try await Self.run { gateway in
            try await Self.write(gateway, #","vendor":{"lat":41.8,"lon":12.4}"#)
            let other = try await Self.navigate(gateway, "to=vendor", by: "rider-2")
            #expect(other.status == 404)
            let customer = try await gateway.rest(
                "GET", "/api/v1/jobs/order-1/navigation?to=vendor", by: "anna", .customer)
            #expect(customer.status == 403)
            let ended = try await gateway.rest(
                "POST", "/api/v1/jobs/order-1/status", by: "orders", .service, #"{"status":"cancelled"}"#)
            #expect(ended.status == 200)
            let late = try await Self.navigate(gateway, "to=vendor")
            #expect(late.status == 409 && late.member("jobStatus") == "cancelled")
        }
    }

    @Test func `the vendor's place is sent to the rider and never to a customer, in snapshots and resyncs`()
        async throws
    {
        @Sendable func snapshot(in message: ServerMessage) -> Snapshot? {
            switch message {
            case .subscribed(_, let snapshot), .reset(_, let snapshot): snapshot
            default: nil
            }
        }
        try await Self.run { gateway in
            try await Self.write(gateway, #","vendor":{"name":"Da Gino","address":"Via Appia 1"}"#)
            try await gateway.connect("rider-1", .rider) { rider, riders in
                try await gateway.connect("anna", .customer) { customer, customers in
                    for connection in [rider, customer] {
                        try await connection.send(.subscribe(job: JobID("order-1")!, since: nil))
                    }
                    let first = try await (riders.first { snapshot(in: $0) }, customers.first { snapshot(in: $0) })
                    #expect(first.0.vendorAddress == "Via Appia 1" && first.1.vendorAddress == nil)
                    try await Self.write(gateway, #","vendor":{"name":"Da Gino","address":"Via Ostia 2"}"#)
                    try await gateway.client.run("CLIENT", "KILL", "TYPE", "pubsub")
                    let after = try await (riders.first { snapshot(in: $0) }, customers.first { snapshot(in: $0) })
                    #expect(after.0.vendorAddress == "Via Ostia 2" && after.1.vendorAddress == nil)
                    #expect(after.1.vendor == "Da Gino")
                }
            }
        }
    }

    @Test func `an incomplete or invalid vendor is refused`() async throws {
        try await Self.run { gateway in
            for vendor in [
                "{}", #"{"lat":41.8}"#, #"{"lat":91,"lon":0}"#, #"{"name":""}"#, #"{"name":"a\u0007b"}"#,
                #"{"address":""}"#, #"{"lat":41.8,"lon":12.4,"address":" "}"#,
                #"{"name":"\#(String(repeating: "a", count: 101))"}"#, #"{"name":1}"#,
                #"{"name":"a\#(String(repeating: "\u{301}", count: 100))"}"#,
                #"{"address":"a\#(String(repeating: "\u{301}", count: 256))"}"#,
            ] {
                let answer = try await gateway.rest(
                    "PUT", "/api/v1/jobs/order-1", by: "orders", .service,
                    #"{"kind":"delivery","customer":"anna","vendor":\#(vendor)}"#)
                #expect(answer.status == 422, "\(vendor): \(answer)")
            }
        }
    }
}
