// Places of a zone's riders in the live instance, to find the nearest. They do not decide who gets a task;
// `Riders.assign` does. A place is valid as long as a heartbeat. Each call of place_riders removes expired places, and
// without calls the keys expire.

package import EnrouteWire
package import NIOCore
package import Redis

/// The places of riders in all zones. Safe to use from any thread.
package struct GeoIndex: Sendable {
    private let live: RedisClient
    private let keyspace: Keyspace
    private let lifetime: Duration

    package init(live: RedisClient, settings: LiveStateSettings) {
        self.live = live
        self.keyspace = settings.keyspace
        self.lifetime = settings.heartbeatTimeout
    }

    /// The latitude limit of geo keys (the square of Web Mercator), degrees north and south.
    package static let maxLatitude = 85.051_128_78

    /// Stores the place of a rider.
    ///
    /// - Returns: whether it was stored: a place beyond `maxLatitude` cannot be.
    package func place(_ rider: PersonID, in zone: ZoneID, at place: Coordinate) -> EventLoopFuture<Bool> {
        self.place([(rider, place)], in: zone).map { $0 == 1 }
    }

    /// Maximum number of places in one call of the script.
    private static let maxBatch = 100

    /// Stores the places of riders of one zone.
    ///
    /// - Returns: how many were stored: places beyond `maxLatitude` cannot be.
    package func place(_ riders: [(rider: PersonID, place: Coordinate)], in zone: ZoneID) -> EventLoopFuture<Int> {
        let placed = riders.filter { abs($0.place.latitude) <= Self.maxLatitude }
        let keys = [self.keyspace.places(in: zone), self.keyspace.placesSeen(in: zone)]
        let sent = stride(from: 0, to: placed.count, by: Self.maxBatch).map { start in
            let places = placed[start..<min(start + Self.maxBatch, placed.count)].map {
                "\($0.rider.text) \($0.place.longitude) \($0.place.latitude)"
            }
            return self.live.evaluate(
                Scripts.placeRiders, keys: keys,
                arguments: [.text(places.joined(separator: " ")), .integer(self.lifetime.milliseconds)]
            ).map { _ in }
        }
        return EventLoopFuture.andAllSucceed(sent, on: self.live.eventLoop).map { placed.count }
    }

    /// Deletes the place of a rider who went offline or moved to another zone. If a place is stored in between, its time
    /// remains, which makes it expire.
    package func forget(_ rider: PersonID, in zone: ZoneID) -> EventLoopFuture<Void> {
        self.live.send(["ZREM", .text(self.keyspace.placesSeen(in: zone)), .text(rider.text)]).flatMap { _ in
            self.live.send(["ZREM", .text(self.keyspace.places(in: zone)), .text(rider.text)])
        }.map { _ in }
    }

    /// Where a rider was, and when that was stored, ms since the epoch.
    package struct SeenPlace: Sendable, Hashable {
        package var place: Coordinate
        package var at: Int64
    }

    /// Maximum number of riders that `all` returns.
    package static let maxListed = 5_000
    /// Maximum number of riders of a zone that `all` reads.
    private static let maxRead = 20_000

    /// The places of a zone's riders that have not expired. Of more than `maxListed`, it returns those whose ids come
    /// first, so that the same riders stay on the map. Of more than `maxRead`, some are missing.
    ///
    /// - Parameter now: ms since the epoch.
    package func all(in zone: ZoneID, now: Int64) -> EventLoopFuture<[PersonID: SeenPlace]> {
        let (places, seen) = (self.keyspace.places(in: zone), self.keyspace.placesSeen(in: zone))
        let oldest = String(now - self.lifetime.milliseconds)
        let limit: [RedisCommand.Word] = ["WITHSCORES", "LIMIT", 0, .integer(Self.maxRead)]
        let times = self.live.send(
            RedisCommand([.text("ZRANGEBYSCORE"), .text(seen), .text(oldest), .text("+inf")] + limit))
        let cells = self.live.send(
            RedisCommand([.text("ZRANGEBYSCORE"), .text(places), .text("-inf"), .text("+inf")] + limit))
        return times.and(cells).map { times, cells in
            let at = self.scores(times, of: seen) { Int64($0).flatMap { $0.isTimestamp ? $0 : nil } }
            let found = self.scores(cells, of: places) { UInt64($0).flatMap { GeoCell($0)?.center } }
            let all = found.reduce(into: [PersonID: SeenPlace]()) { all, entry in
                if let at = at[entry.key] { all[entry.key] = SeenPlace(place: entry.value, at: at) }
            }
            guard all.count > Self.maxListed else { return all }
            let first = all.sorted { $0.key.text < $1.key.text }.prefix(Self.maxListed)
            return Dictionary(uniqueKeysWithValues: first.map { ($0.key, $0.value) })
        }
    }

    /// Places of some riders of a zone, regardless of their age.
    package func some(_ count: Int, in zone: ZoneID) -> EventLoopFuture<[Coordinate]> {
        let key = self.keyspace.places(in: zone)
        return self.live.send([
            "ZRANGEBYSCORE", .text(key), "-inf", "+inf", "WITHSCORES", "LIMIT", 0, .integer(max(count, 1)),
        ]).map { answer in
            Array(self.scores(answer, of: key) { UInt64($0).flatMap { GeoCell($0)?.center } }.values)
        }
    }

    /// The members of a sorted set with their scores.
    private func scores<Score>(
        _ answer: RESPValue, of key: String, _ read: (String) -> Score?
    ) -> [PersonID: Score] {
        let texts = (answer.array ?? []).map { $0.text ?? "" }
        var found: [PersonID: Score] = [:]
        for index in stride(from: 0, to: texts.count - 1, by: 2) {
            guard let rider = PersonID(texts[index]), let score = read(texts[index + 1]) else {
                self.live.refuse(key, by: "ZRANGEBYSCORE")
                continue
            }
            found[rider] = score
        }
        return found
    }

    /// Maximum number of riders that one search returns.
    package static let maxResults = 500

    /// The riders around a place, nearest first, whether or not they are in the pool. Empty for a place beyond
    /// `maxLatitude`.
    ///
    /// - Parameters:
    ///   - radius: meters.
    ///   - limit: at most `maxResults`.
    package func near(
        _ place: Coordinate, in zone: ZoneID, within radius: Double, limit: Int
    ) -> EventLoopFuture<[ZonePool.Candidate]> {
        // No rider can be stored there, and Redis refuses such a search.
        guard abs(place.latitude) <= Self.maxLatitude else { return self.live.eventLoop.makeSucceededFuture([]) }
        let key = self.keyspace.places(in: zone)
        return self.live.send([
            "GEOSEARCH", .text(key), "FROMLONLAT", .text("\(place.longitude)"),
            .text("\(place.latitude)"), "BYRADIUS", .text("\(radius)"), "m", "ASC", "COUNT",
            .integer(min(max(limit, 1), Self.maxResults)), "WITHDIST",
        ]).flatMapThrowing { answer in
            guard let found = answer.array else { throw RedisError.unexpectedAnswer(command: "GEOSEARCH") }
            let near = found.compactMap { entry -> ZonePool.Candidate? in
                guard let parts = entry.array, parts.count == 2, let rider = parts[0].text.flatMap({ PersonID($0) }),
                    let meters = parts[1].text.flatMap({ Double($0) }), meters.isFinite, meters >= 0
                else { return nil }
                return ZonePool.Candidate(rider: rider, meters: meters)
            }
            if near.count < found.count { self.live.refuse(key, by: "GEOSEARCH") }
            return near
        }
    }
}
