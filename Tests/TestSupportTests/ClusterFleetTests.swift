import Redis
import TestSupport
import Testing

@Suite(.needsMachine(for: .faults)) struct ClusterFleetTests {
    @Test func `in a healthy cluster every slot is served and every master has a replica`() async throws {
        try await ClusterFleet.running { fleet in
            for (number, node) in fleet.nodes.prefix(3).enumerated() {
                let slots = try #require(try await fleet.views()[number].own?.slots)
                try #require(slots.count == 1)
                #expect(try await fleet.master(of: slots[0].lowerBound).id == node.id)
                #expect(try await fleet.replicas(of: node).map(\.id) == [fleet.nodes[number + 3].id])
            }
            #expect(fleet.url.hasPrefix("redis+cluster://127.0.0.1:"))
            #expect(fleet.url.split(separator: ",").count == 6)
        }
    }

    @Test func `the hash slot of a key is the one that Redis computes`() async throws {
        try await withRedis(options: ["--cluster-enabled", "yes"]) { client, _ in
            for key in ["a", "job:{42}:position", "{}x", "x{", "a}b{c}", "{a}{b}", "{{a}}", "", "ключ"] {
                let slot = try await client.run("CLUSTER", "KEYSLOT", key).integer
                #expect(slot == Int64(ClusterFleet.slot(of: key)), "\(key)")
            }
        }
    }

    @Test func `after a master dies its replica serves its slots within 15 s, and it returns as a replica`()
        async throws
    {
        try await ClusterFleet.running { fleet in
            let slot = ClusterFleet.slot(of: "a")
            let (master, successor) = try await fleet.pair(of: slot)
            try await master.endpoint.write("a", "1", replicas: 1)
            await master.redis.crash()
            try await becomes("another serves the slot", within: .seconds(15)) {
                (try? await fleet.master(of: slot).id) == successor.id
            }
            try await fleet.settled()
            #expect(try await successor.endpoint.ask("GET", "a").text == "1")
            try await master.redis.start()
            try await fleet.settled()
            #expect(try await fleet.replicas(of: successor).map(\.id) == [master.id])
            #expect(try await master.endpoint.ask("GET", "a") == .error("MOVED \(slot) 127.0.0.1:\(successor.port)"))
        }
    }

    @Test func `a requested failover swaps master and replica`() async throws {
        try await ClusterFleet.running { fleet in
            let (master, replica) = try await fleet.pair(of: 0)
            try await fleet.failOver(to: replica)
            #expect(try await fleet.master(of: 0).id == replica.id)
            #expect(try await fleet.replicas(of: replica).map(\.id) == [master.id])
        }
    }

    @Test func `a master frozen during its replacement becomes a replica`() async throws {
        try await ClusterFleet.running { fleet in
            let (master, successor) = try await fleet.pair(of: 0)
            try await master.redis.freeze()
            try await fleet.settled()
            #expect(try await fleet.master(of: 0).id == successor.id)
            try await master.redis.thaw()
            try await fleet.settled()
            #expect(try await fleet.replicas(of: successor).map(\.id) == [master.id])
        }
    }

    @Test func `a slot being moved answers with ASK, and with MOVED afterwards`() async throws {
        try await ClusterFleet.running { fleet in
            let slot = ClusterFleet.slot(of: "{a}")
            let source = try await fleet.master(of: slot)
            let target = try #require(fleet.nodes.prefix(3).first { $0.id != source.id })
            for number in 0..<25 { try await source.endpoint.carryOut("SET", "{a}\(number)", "v") }
            let ask = RESPValue.error("ASK \(slot) 127.0.0.1:\(target.port)")
            let movedToSource = RESPValue.error("MOVED \(slot) 127.0.0.1:\(source.port)")
            let movedToTarget = RESPValue.error("MOVED \(slot) 127.0.0.1:\(target.port)")
            #expect(try await target.endpoint.ask("GET", "{a}0") == movedToSource)

            let migration = try await fleet.migration(of: slot, to: target)
            try await migration.begin()
            #expect(try await source.endpoint.ask("GET", "{a}0").text == "v")
            #expect(try await source.endpoint.ask("GET", "{a}new") == ask)
            #expect(try await target.endpoint.ask("GET", "{a}new") == movedToSource)
            try await RawRedis.talking(to: target.endpoint) { connection in
                try await connection.run("ASKING")
                #expect(try await connection.run("SET", "{a}new", "n").text == "OK")
            }
            #expect(try await migration.moveKeys(atMost: 15) == 15)
            #expect(try await source.endpoint.ask("CLUSTER", "COUNTKEYSINSLOT", "\(slot)").integer == 10)
            await #expect(throws: SlotMigration.KeysLeft.self) { try await migration.finish() }

            #expect(try await migration.moveKeys() == 10)
            try await migration.finish()
            #expect(try await source.endpoint.ask("GET", "{a}0") == movedToTarget)
            #expect(try await target.endpoint.ask("CLUSTER", "COUNTKEYSINSLOT", "\(slot)").integer == 26)
            try await fleet.settled()
            #expect(try await fleet.master(of: slot).id == target.id)
        }
    }

    @Test func `a subscriber of a moved slot receives sunsubscribe at the end, and not before`()
        async throws
    {
        try await ClusterFleet.running { fleet in
            let slot = ClusterFleet.slot(of: "feed")
            let source = try await fleet.master(of: slot)
            let target = try #require(fleet.nodes.prefix(3).first { $0.id != source.id })
            try await RawRedis.talking(to: source.endpoint) { subscriber in
                try await subscriber.carryOut(["SSUBSCRIBE", "feed"])
                let migration = try await fleet.migration(of: slot, to: target)
                try await migration.begin()
                // Pushes are not redirected with ASK: until the slot has been given away, everything published on the source
                // arrives.
                #expect(try await source.endpoint.ask("SPUBLISH", "feed", "in between").integer == 1)
                #expect(try await subscriber.next().array?.compactMap(\.text) == ["smessage", "feed", "in between"])
                try await migration.finish()
                let push = try await subscriber.next().array
                #expect(push?.prefix(2).map(\.text) == ["sunsubscribe", "feed"])
                #expect(push?.last?.integer == 0)
                let moved = RESPValue.error("MOVED \(slot) 127.0.0.1:\(target.port)")
                #expect(try await subscriber.run("SSUBSCRIBE", "feed") == moved)
                #expect(try await source.endpoint.ask("SPUBLISH", "feed", "afterwards") == moved)
            }
        }
    }

    @Test func `no key is lost when a slot moves while its keys are written`() async throws {
        try await ClusterFleet.running { fleet in
            let slot = ClusterFleet.slot(of: "{load}")
            let source = try await fleet.master(of: slot)
            let target = try #require(fleet.nodes.prefix(3).first { $0.id != source.id })
            let migration = try await fleet.migration(of: slot, to: target)
            let written = try await withThrowingTaskGroup(of: Int.self) { group in
                group.addTask { try await Self.write(from: source.endpoint, until: target.endpoint) }
                try await becomes("keys are written") {
                    (try await source.endpoint.ask("CLUSTER", "COUNTKEYSINSLOT", "\(slot)").integer ?? 0) > 100
                }
                try await migration.run()
                return try await group.next() ?? 0
            }
            #expect(written > 100)
            #expect(try await target.endpoint.ask("CLUSTER", "COUNTKEYSINSLOT", "\(slot)").integer == Int64(written))
        }
    }

    /// Writes keys one after the other, following redirections, until the first of them is MOVED to `target`.
    private static func write(from source: LoopbackEndpoint, until target: LoopbackEndpoint) async throws -> Int {
        try await RawRedis.talking(to: source) { source in
            try await RawRedis.talking(to: target) { target in
                var number = 0
                while true {
                    number += 1
                    let words = ["SET", "{load}\(number)", "v"]
                    guard case .error(let line) = try await source.run(words) else { continue }
                    if line.hasPrefix("ASK ") {
                        try await target.run("ASKING")
                        try await target.carryOut(words)
                    } else {
                        #expect(line.hasPrefix("MOVED "))
                        try await target.carryOut(words)
                        return number
                    }
                }
            }
        }
    }
}

extension ClusterFleet {
    /// The owner of a slot, and its successor.
    fileprivate func pair(of slot: Int) async throws -> (master: Node, replica: Node) {
        let master = try await self.master(of: slot)
        return (master, try #require(try await self.replicas(of: master).first))
    }
}
