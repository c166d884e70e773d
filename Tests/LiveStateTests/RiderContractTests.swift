import EnrouteWire
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

/// The contracts of the rider scripts: every bad argument is refused by name before anything is written.
@Suite struct RiderContractTests {
    private static let badReaches = ["", "0", "-1", "1.5", "x", "nan", "inf", "86400001"]
    private static let badReasons = ["a\nb", "\u{7f}", String(repeating: "a", count: 201)]

    private static func bad(_ index: Int, _ values: [String], _ reason: String) -> [(Int, String, String)] {
        values.map { (index, $0, reason) }
    }

    /// A zone with a rider that has a task, which no refused call may change.
    private func stage(_ body: (ZoneStage) async throws -> Void) async throws {
        try await ZoneStage.set { stage in
            try await stage.online()
            _ = try await stage.assign(ZoneStage.jobs[0])
            _ = try await stage.nextChanges(3)
            try await body(stage)
        }
    }

    @Test func `describe_rider refuses a bad argument`() async throws {
        try await self.stage { stage in
            let call = ValidCall(Scripts.describeRider, stage, "1", "2", #"{"name":"Rosa"}"#)
            try await call.refusesCommonAnd(
                Self.bad(4, ["", "2", "x"], "approved must be")
                    + Self.bad(5, [" ", "0", "101", "1.5", "x", "nan"], "capacity must be")
                    + Self.bad(6, ["x", "[]", "{"], "card must be"), on: stage)
        }
    }

    @Test func `finish_joining refuses any argument`() async throws {
        try await self.stage { stage in
            let call = ValidCall(script: Scripts.finishJoining, keys: [stage.keys[0]], arguments: [])
            try await call.refuses([], on: stage.base)
        }
    }

    @Test func `remove_rider refuses a bad argument`() async throws {
        try await self.stage { stage in
            let call = ValidCall(Scripts.removeRider, stage, keys: [stage.due], "left")
            try await call.refusesCommonAnd(Self.bad(4, Self.badReasons, "reason must be"), on: stage)
        }
    }

    @Test func `set_rider_online refuses a bad argument`() async throws {
        try await self.stage { stage in
            let call = ValidCall(Scripts.setRiderOnline, stage, keys: [stage.due], "phone", "90000")
            try await call.refusesCommonAnd(
                Self.bad(4, badNames, "device must be") + Self.bad(5, Self.badReaches, "reach_ms must be"), on: stage)
        }
    }

    @Test func `set_rider_offline refuses a bad argument`() async throws {
        try await self.stage { stage in
            let call = ValidCall(Scripts.setRiderOffline, stage, keys: [stage.due], "phone", "tired")
            try await call.refusesCommonAnd(
                Self.bad(4, badNames, "device must be") + Self.bad(5, Self.badReasons, "reason must be"), on: stage)
        }
    }

    @Test func `assign_rider refuses a bad argument`() async throws {
        try await self.stage { stage in
            let call = ValidCall(Scripts.assignRider, stage, keys: [stage.owners], "job-2", "90000", "", "accepted")
            try await call.refusesCommonAnd(
                Self.bad(4, badNames + [""], "job must be") + Self.bad(5, Self.badReaches, "reach_ms must be")
                    + Self.bad(6, badNames, "instead_of must be") + Self.bad(7, ["", "completed"], "state must be"),
                on: stage)
        }
    }

    @Test func `release_rider refuses a bad argument`() async throws {
        try await self.stage { stage in
            let call = ValidCall(Scripts.releaseRider, stage, keys: [stage.owners, stage.due], "job-1", "completed")
            let outcomes = ["", "A", "a b", String(repeating: "a", count: 41)]
            try await call.refusesCommonAnd(
                Self.bad(4, badNames + [""], "job must be") + Self.bad(5, outcomes, "outcome must be"), on: stage)
        }
    }

    @Test func `advance_task refuses a bad argument`() async throws {
        try await self.stage { stage in
            let call = ValidCall(Scripts.advanceTask, stage, "job-1", "accepted", "picked_up")
            try await call.refusesCommonAnd(
                Self.bad(4, badNames + [""], "job must be") + Self.bad(5, ["A", "a b"], "from must be")
                    + Self.bad(6, ["", "completed", "x"], "state must be"), on: stage)
        }
    }

    @Test func `rider_heartbeat refuses a bad argument`() async throws {
        try await self.stage { stage in
            let call = ValidCall(
                script: Scripts.riderHeartbeat, keys: stage.keys.dropLast() + [stage.due],
                arguments: ["berlin", "rider-1", "phone", "0", "90000"])
            try await call.refuses(
                Self.bad(0, badNames + [""], "zone must be") + Self.bad(1, badNames + [""], "rider must be")
                    + Self.bad(2, badNames, "device must be") + Self.bad(3, ["", "2"], "takes_over must be")
                    + Self.bad(4, Self.badReaches, "reach_ms must be"), on: stage.base)
        }
    }

    @Test func `expire_rider refuses a bad argument`() async throws {
        try await self.stage { stage in
            let call = ValidCall(
                script: Scripts.expireRider, keys: stage.keys.dropLast() + [stage.due],
                arguments: ["berlin", "rider-1", "90000", "1800000"])
            try await call.refuses(
                Self.bad(0, badNames + [""], "zone must be") + Self.bad(1, badNames + [""], "rider must be")
                    + Self.bad(2, Self.badReaches, "reach_ms must be")
                    + Self.bad(3, ["", "89999", "1e10", "x", "90000.5"], "offline_ms must be"), on: stage.base)
        }
    }

    @Test func `the snapshots refuse a bad argument`() async throws {
        try await self.stage { stage in
            let rider = ValidCall(
                script: Scripts.riderSnapshot, keys: Array(stage.keys.prefix(2)), arguments: ["90000"])
            try await rider.refuses(Self.bad(0, Self.badReaches, "reach_ms must be"), on: stage.base)
            let zone = ValidCall(
                script: Scripts.zoneSnapshot, keys: Array(stage.keys[2...3]), arguments: ["", "10"])
            try await zone.refuses(
                Self.bad(0, ["x", "-1", "1.5", "12345678901234567"], "since must be")
                    + Self.bad(1, ["", "0", "10001", "1.5", "x", "nan"], "limit must be"), on: stage.base)
        }
    }

    @Test func `place_riders refuses a bad argument`() async throws {
        try await self.stage { stage in
            let keys = [stage.keyspace.places(in: ZoneStage.zone), stage.keyspace.placesSeen(in: ZoneStage.zone)]
            let call = ValidCall(
                script: Scripts.placeRiders, keys: keys, arguments: ["rider-1 13.4 52.5 rider-2 13.5 52.6", "90000"])
            let degrees = ["", "x", "nan", "-181", "181", "inf"]
            let places =
                (badNames + [""]).map { "\($0) 13.4 52.5" } + degrees.map { "rider-1 \($0) 52.5" }
                + (degrees + ["85.06", "-86"]).map { "rider-1 13.4 \($0)" }
                + [
                    "", " ", "rider-1", "rider-1 13.4", "rider-1 13.4 52.5 ", " rider-1 13.4 52.5",
                    "rider-1  13.4 52.5",
                ]
                + ["rider-1 13.4 52.5 rider-2", "rider-1 13.4 52.5 rider-2 13.5", "rider-1 13.4 52.5 a:b 13.5 52.6"]
                + [Array(repeating: "rider-1 13.4 52.5", count: 101).joined(separator: " ")]
            try await call.refuses(
                Self.bad(0, places, "places must be") + Self.bad(1, Self.badReaches, "lifetime_ms must be"),
                on: stage.base)
        }
    }

    @Test func `place_riders stores every place of a batch`() async throws {
        try await self.stage { stage in
            let index = GeoIndex(live: stage.base.client, settings: stage.base.settings)
            let here = Coordinate(latitude: 52.5, longitude: 13.4)!
            let riders = (0..<250).map { (rider: PersonID("rider-\($0)")!, place: here) }
            let pole = (rider: PersonID("pole")!, place: Coordinate(latitude: 89, longitude: 0)!)
            #expect(try await index.place(riders + [pole], in: ZoneStage.zone).get() == 250)
            let found = try await index.near(here, in: ZoneStage.zone, within: 10, limit: 500).get()
            #expect(Set(found.map(\.rider)) == Set(riders.map(\.rider)))
        }
    }

    @Test func `the code that the rider scripts share is identical in each`() throws {
        let scripts = try LuaFolder.scripts()
        /// From the line that starts with `start` to the next empty line.
        func part(_ start: String, of text: String) -> Substring? {
            text.firstRange(of: "\n" + start).map { found in
                let rest = text[found.lowerBound...]
                return rest[..<(rest.firstRange(of: "\n\n")?.lowerBound ?? rest.endIndex)]
            }
        }
        for start in ["local function apply_change", "local stored = request"] {
            let parts = scripts.compactMap { part(start, of: $0.text) }
            #expect(parts.count >= 7)
            #expect(Set(parts).count == 1, "\(start)")
        }
    }
}
