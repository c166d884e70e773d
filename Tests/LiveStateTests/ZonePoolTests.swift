import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

/// The pool for programs that assign tasks: its members, its changes in order, and the nearest riders.
@Suite struct ZonePoolTests {
    @Test func `each change names its predecessor, and is the same in the log and as a message`() async throws {
        try await ZoneStage.set { stage in
            let empty = try await stage.pool.read(ZoneStage.zone).get()
            #expect(empty.version == 0 && empty.changes == nil && empty.members.isEmpty && empty.count == 0)
            try await stage.online()
            let start = try await stage.pool.read(ZoneStage.zone).get()
            try await stage.online(ZoneStage.other)
            _ = try await stage.assign(ZoneStage.jobs[0])
            _ = try await stage.release(ZoneStage.jobs[0])
            _ = try await stage.goOffline()
            let messages = try await stage.base.subscriber.messages.next(7)
            let told = try messages.map { try $0.payload.withUnsafeBytes { try RiderChange($0) } }
            // The scripts write the same JSON as the Swift type.
            #expect(messages.map(\.text) == told.map { String(decoding: $0.encoded, as: UTF8.self) })
            #expect(told.first?.previous == 0)
            for (one, next) in zip(told, told.dropFirst()) {
                #expect(next.previous == one.version && next.version > one.version)
            }
            #expect(start.version == told[1].version && start.members.map(\.rider) == [ZoneStage.rider])
            let rest = try await stage.pool.read(ZoneStage.zone, since: start.version).get()
            #expect(rest.changes == Array(told.suffix(5)))
            #expect(rest.version == told.last?.version)
            let nothing = try await stage.pool.read(ZoneStage.zone, since: rest.version).get()
            #expect(nothing.changes == [])
        }
    }

    @Test func `for a version that the log does not hold, the pool itself is returned`() async throws {
        try await ZoneStage.set { stage in
            try await stage.online()
            let version = try await stage.pool.read(ZoneStage.zone).get().version
            for unknown in [1, version - 1, version + 1] {
                let reading = try await stage.pool.read(ZoneStage.zone, since: unknown).get()
                #expect(reading.changes == nil && reading.members.map(\.rider) == [ZoneStage.rider])
            }
            for round in 0..<1000 { try await stage.describe(capacity: 2 + round % 2) }
            #expect(try await stage.pool.read(ZoneStage.zone, since: version).get().changes?.count == 1000)
            try await stage.describe(capacity: 9)
            let reading = try await stage.pool.read(ZoneStage.zone, since: version).get()
            #expect(reading.changes == nil && reading.count == 1)
        }
    }

    @Test func `a version is never issued twice, even if the clock goes back or the log is lost`() async throws {
        try await ZoneStage.set { stage in
            // As left by a master whose clock was an hour ahead.
            let ahead = (try await stage.base.now() + 3_600_000) * 1000 + 998
            let id = "\(ahead / 1000)-\(ahead % 1000)"
            try await stage.client.run("XADD", stage.keys[3], id, "change", "online")
            try await stage.online()
            let told = try await stage.nextChanges(2)
            #expect(told.map(\.version) == [ahead + 1, ahead + 2])
            try await stage.client.run("DEL", stage.keys[3])
            _ = try await stage.goOffline()
            let after = try await stage.nextChange()
            #expect(after.previous == 0 && after.version != told[1].version)
        }
    }

    @Test func `at most the limit is returned, newest heartbeat first, with the size of the pool`() async throws {
        try await ZoneStage.set { stage in
            let riders = (0..<5).map { PersonID("r\($0)")! }
            for (index, rider) in riders.enumerated() {
                try await stage.online(rider)
                try await stage.client.run("ZADD", stage.keys[2], "\(1_700_000_000_000 + index)", rider.text)
            }
            let reading = try await stage.pool.read(ZoneStage.zone, limit: 2).get()
            #expect(reading.members.map(\.rider) == [riders[4], riders[3]])
            #expect(reading.count == 5)
            #expect(reading.members[0].heartbeat == 1_700_000_000_004)
        }
    }

    @Test func `the nearest riders of the pool are found, and others are skipped`() async throws {
        try await ZoneStage.set { stage in
            let index = GeoIndex(live: stage.client, settings: LiveStateSettings())
            let here = Coordinate(latitude: 52.5, longitude: 13.4)!
            // One rider about every meter, and every third is available.
            for number in 0..<90 {
                let rider = PersonID("r\(number)")!
                if number.isMultiple(of: 3) { try await stage.online(rider) } else { try await stage.describe(rider) }
                let place = Coordinate(latitude: 52.5 + Double(number) * 1e-5, longitude: 13.4)!
                #expect(try await index.place(rider, in: ZoneStage.zone, at: place).get())
            }
            func nearest(_ radius: Double, _ limit: Int) async throws -> [ZonePool.Candidate] {
                try await stage.pool.nearest(to: here, in: ZoneStage.zone, within: radius, limit: limit).get()
            }
            #expect(try await nearest(1000, 3).map(\.rider.text) == ["r0", "r3", "r6"])
            #expect(try await nearest(1000, 100).count == 30)
            let close = try await nearest(10, 100)
            #expect(close.map(\.rider.text) == ["r0", "r3", "r6", "r9"] || close.count == 3)
            #expect(close.allSatisfy { $0.meters <= 10.5 })
            #expect(try await nearest(0.01, 5).count <= 1)
            try await index.forget(PersonID("r0")!, in: ZoneStage.zone).get()
            #expect(try await nearest(1000, 1).map(\.rider.text) == ["r3"])
        }
    }

    @Test func `a crowd of busy riders does not hide an available one`() async throws {
        try await ZoneStage.set { stage in
            let index = GeoIndex(live: stage.client, settings: LiveStateSettings())
            let here = Coordinate(latitude: 52.5, longitude: 13.4)!
            for number in 0..<50 {
                let place = Coordinate(latitude: 52.5 + Double(number) * 1e-5, longitude: 13.4)!
                _ = try await index.place(PersonID("busy-\(number)")!, in: ZoneStage.zone, at: place).get()
            }
            try await stage.online()
            _ = try await index.place(
                ZoneStage.rider, in: ZoneStage.zone, at: Coordinate(latitude: 52.51, longitude: 13.4)!
            ).get()
            let found = try await stage.pool.nearest(to: here, in: ZoneStage.zone, within: 3000, limit: 10).get()
            #expect(found.map(\.rider) == [ZoneStage.rider])
        }
    }

    @Test func `places that are not renewed expire, and no place can be stored at the poles`() async throws {
        try await ZoneStage.set { stage in
            let index = GeoIndex(live: stage.client, settings: LiveStateSettings())
            let here = Coordinate(latitude: 52.5, longitude: 13.4)!
            let seen = stage.keyspace.placesSeen(in: ZoneStage.zone)
            for number in 0..<15 {
                _ = try await index.place(PersonID("ghost-\(number)")!, in: ZoneStage.zone, at: here).get()
                try await stage.client.run("ZADD", seen, "\(number)", "ghost-\(number)")
            }
            for _ in 0..<2 { _ = try await index.place(ZoneStage.rider, in: ZoneStage.zone, at: here).get() }
            let left = try await index.near(here, in: ZoneStage.zone, within: 10, limit: 100).get()
            #expect(left.map(\.rider) == [ZoneStage.rider])
            for key in [seen, stage.keyspace.places(in: ZoneStage.zone)] {
                #expect((1...90_000).contains(try await stage.client.timeLeft(of: key)))
            }
            let pole = Coordinate(latitude: 89, longitude: 0)!
            #expect(try await index.place(ZoneStage.rider, in: ZoneStage.zone, at: pole).get() == false)
        }
    }
}
