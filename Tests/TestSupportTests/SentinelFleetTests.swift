import Redis
import TestSupport
import Testing

@Suite(.needsMachine(for: .faults)) struct SentinelFleetTests {
    @Test func `Sentinels name one master with two replicas`() async throws {
        try await SentinelFleet.running { fleet in
            for number in 0..<3 {
                let master = try await fleet.master(accordingTo: number)
                #expect(master.port == fleet.servers[0].port)
            }
            #expect(try await fleet.servers[0].run("ROLE").array?.last?.array?.count == 2)
            let ports = fleet.sentinels.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
            #expect(fleet.url == "redis+sentinel://\(ports)/mymaster")
        }
    }

    @Test func `after the master dies another replaces it within 15 s, and it returns as a replica`()
        async throws
    {
        try await SentinelFleet.running { fleet in
            let master = try await fleet.master()
            try await master.endpoint.write("a", "1", replicas: 2)
            await master.crash()
            let successor = try await fleet.successor(of: master, within: .seconds(15))
            #expect(try await successor.run("GET", "a").text == "1")
            try await master.start()
            try await fleet.settled()
            #expect(try await fleet.master().port == successor.port)
            #expect(try await master.run("GET", "a").text == "1")
        }
    }

    @Test func `a requested failover promotes another server within 15 s, repeatedly`() async throws {
        try await SentinelFleet.running { fleet in
            for _ in 1...2 {
                let old = try await fleet.master()
                let new = try await fleet.failOver(within: .seconds(15))
                #expect(new.port != old.port)
                #expect(try await new.run("ROLE").array?.first?.text == "master")
                #expect(try await old.run("ROLE").array?.first?.text == "slave")
            }
        }
    }

    @Test func `a master frozen during its replacement becomes a replica when thawed`() async throws {
        try await SentinelFleet.running { fleet in
            let master = try await fleet.master()
            try await master.freeze()
            let successor = try await fleet.successor(of: master, within: .seconds(15))
            try await master.thaw()
            try await fleet.settled()
            #expect(try await fleet.master().port == successor.port)
        }
    }

    @Test func `a subscriber of a Sentinel is notified of the new master`() async throws {
        try await SentinelFleet.running { fleet in
            try await RawRedis.talking(to: fleet.sentinels[1].endpoint) { connection in
                try await connection.carryOut(["SUBSCRIBE", "+switch-master"])
                let old = try await fleet.master()
                let new = try await fleet.failOver()
                let words = try await connection.next().array?.last?.text?.split(separator: " ").map(String.init)
                #expect(words == ["mymaster", "127.0.0.1", "\(old.port)", "127.0.0.1", "\(new.port)"])
            }
        }
    }
}
