import Access
import EnrouteClient
import EnrouteWire
import HTTPValues
import LiveState
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// `watch {zone, places: true}` on running gateways.
@Suite struct WatchedPlacesTests {
    private static let rome = RunningGateway.rome
    private static let home = Coordinate(latitude: 41.91, longitude: 12.5)!
    private static let visit =
        #"{"kind":"service","customer":"anna","rider":"rider-1","zone":"rome","destination":{"lat":41.91,"lon":12.5}}"#

    /// The places that one watcher shows.
    private struct Map {
        var places: [String: ZonePlace] = [:]
        var isComplete = false

        mutating func take(_ view: ZonePlacesView) {
            if view.isReset { self.places = [:] }
            for place in view.places { self.places[place.job?.text ?? place.rider?.text ?? ""] = place }
            for name in view.goneJobs.map(\.text) + view.goneRiders.map(\.text) { self.places[name] = nil }
            if !view.hasMore { self.isComplete = true }
        }
    }

    private static func watch(
        _ messages: inout GatewayConnection.Messages.AsyncIterator, _ map: inout Map, until isEnough: (Map) -> Bool
    ) async throws {
        while !isEnough(map) {
            guard let message = try await messages.next() else { throw Missing() }
            if case .places(let view) = message { map.take(view) }
            if case .error(let refusal) = message { throw refusal.code }
        }
    }

    private static func run(_ body: @escaping @Sendable (RunningGateway) async throws -> Void) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.limits.allowManyMessages() }) { try await body($0) }
        }
    }

    @Test func `a watcher sees where an order is picked up`() async throws {
        try await Self.run { gateway in
            try await gateway.putJob(
                "job-1",
                #"{"kind":"delivery","customer":"anna","zone":"rome","vendor":{"name":"Da Gino","lat":41.9,"lon":12.49}}"#
            )
            try await gateway.connect("olga", .ops) { connection, messages in
                var map = Map()
                try await connection.send(.watchPlaces(zone: Self.rome))
                try await Self.watch(&messages, &map) { $0.isComplete }
                #expect(map.places["job-1"]?.vendor == Coordinate(latitude: 41.9, longitude: 12.49))
            }
        }
    }

    @Test func `a watcher sees where jobs end, and the rider while its position is shared`() async throws {
        try await Self.run { gateway in
            try await gateway.putJob("job-1", Self.visit)
            try await gateway.changeJob("job-1", to: "on_the_way")
            let job = JobID("job-1")!
            try await gateway.connect("olga", .ops) { connection, messages in
                var map = Map()
                try await connection.send(.watchPlaces(zone: Self.rome))
                try await Self.watch(&messages, &map) { $0.isComplete }
                #expect(map.places["job-1"]?.destination == Self.home && map.places["job-1"]?.position == nil)
                try await gateway.connect("rider-1", .rider) { rider, _ in
                    try await rider.send(.travel(job: job, active: true))
                    try await rider.report(job, step: 1)
                    try await Self.watch(&messages, &map) { $0.places["job-1"]?.position != nil }
                    #expect(map.places["job-1"]?.rider == PersonID("rider-1"))
                    try await rider.send(.travel(job: job, active: false))
                    try await Self.watch(&messages, &map) { $0.places["job-1"]?.position == nil }
                }
                try await gateway.changeJob("job-1", to: "cancelled")
                try await Self.watch(&messages, &map) { $0.places["job-1"] == nil }
            }
        }
    }

    /// Stores a rider's place, as a gateway does.
    private static func place(_ rider: PersonID, _ gateway: RunningGateway) async throws {
        let places = GeoIndex(live: gateway.client, settings: gateway.settings.liveState)
        _ = try await places.place(rider, in: Self.rome, at: Self.home).get()
    }

    @Test func `a rider who went offline is not shown, even if another gateway stores its place after that`()
        async throws
    {
        try await Self.run { gateway in
            for rider in [PersonID.rider(7), .rider(8)] {
                try await gateway.register(rider)
                try await gateway.goOnline(rider)
            }
            try await Self.place(.rider(7), gateway)
            try await gateway.connect("olga", .ops) { connection, messages in
                var map = Map()
                try await connection.send(.watchPlaces(zone: Self.rome))
                try await Self.watch(&messages, &map) { $0.places[PersonID.rider(7).text] != nil }
                try await gateway.goOffline(.rider(7))
                try await Self.watch(&messages, &map) { $0.places.isEmpty }
                try await Self.place(.rider(7), gateway)
                try await Self.place(.rider(8), gateway)
                try await Self.watch(&messages, &map) { !$0.places.isEmpty }
                #expect(Set(map.places.keys) == [PersonID.rider(8).text])
            }
        }
    }

    @Test func `if the ledger does not report who is online, every place is shown`() async throws {
        try await Self.run { gateway in
            try await gateway.client.run("SET", gateway.settings.liveState.keyspace.due(in: Self.rome), "malformed")
            try await Self.place(.rider(7), gateway)
            try await gateway.connect("olga", .ops) { connection, messages in
                var map = Map()
                try await connection.send(.watchPlaces(zone: Self.rome))
                try await Self.watch(&messages, &map) { $0.places[PersonID.rider(7).text] != nil }
            }
        }
    }

    @Test func `a rider without a job is where it was last seen, until the place expires`() async throws {
        try await Self.run { gateway in
            let keyspace = gateway.settings.liveState.keyspace
            try await gateway.register(.rider(7))
            try await gateway.goOnline(.rider(7))
            try await gateway.connect("olga", .ops) { connection, messages in
                var map = Map()
                try await connection.send(.watchPlaces(zone: Self.rome))
                try await Self.watch(&messages, &map) { $0.isComplete }
                #expect(map.places.isEmpty)
                let now = WallClock.nowMilliseconds
                try await gateway.client.run("GEOADD", keyspace.places(in: Self.rome), "12.4964", "41.9028", "rider-7")
                try await gateway.client.run("ZADD", keyspace.placesSeen(in: Self.rome), "\(now)", "rider-7")
                try await Self.watch(&messages, &map) { $0.places["rider-7"] != nil }
                let place = try #require(map.places["rider-7"])
                let position = try #require(place.position)
                #expect(place.job == nil && place.at == now)
                #expect(abs(position.latitude - 41.9028) < 0.00002 && abs(position.longitude - 12.4964) < 0.00002)
                try await gateway.client.run("ZADD", keyspace.placesSeen(in: Self.rome), "1000", "rider-7")
                try await Self.watch(&messages, &map) { $0.places.isEmpty }
            }
        }
    }

    @Test func `customers and riders are refused, and it is recorded who watches`() async throws {
        try await Self.run { gateway in
            for (person, role) in [("anna", Role.customer), ("rider-1", .rider)] {
                try await gateway.connect(person, role) { connection, messages in
                    try await connection.send(.watchPlaces(zone: Self.rome))
                    let refusal = try await messages.refusal()
                    #expect(refusal.code == .forbidden && refusal.replyTo == "watch" && refusal.zone == Self.rome)
                }
            }
            try await gateway.connect("olga", .ops) { connection, messages in
                try await connection.send(.watchPlaces(zone: Self.rome))
                try await connection.send(.watchPlaces(zone: Self.rome))
                #expect(try await messages.refusal().code == .badRequest)
                try await connection.send(.unwatchPlaces(zone: Self.rome))
                try await connection.send(.ping)
            }
        }
    }
}
