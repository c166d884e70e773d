import EnrouteWire
import LiveState
import Redis
import Testing

@Suite struct KeyspaceTests {
    private func job(_ keyspace: Keyspace, _ channel: String) -> JobID? {
        Array(channel.utf8).withUnsafeBytes { keyspace.job(ofChannel: $0) }
    }

    @Test func `the names match the schema`() {
        let keyspace = Keyspace()
        #expect(keyspace.job(Stage.job) == "job:{job-7}")
        #expect(keyspace.log(of: Stage.job) == "job:{job-7}:log")
        #expect(keyspace.travel(of: Stage.job) == "job:{job-7}:travel")
        #expect(keyspace.position(of: Stage.job) == "job:{job-7}:position")
        #expect(keyspace.feed(of: Stage.job) == "job:{job-7}:feed")
        #expect(keyspace.events(of: Stage.job) == "job:{job-7}:events")
        #expect(keyspace.eta(of: Stage.job) == "job:{job-7}:eta")
        #expect(keyspace.etaLease(of: Stage.job) == "job:{job-7}:eta:lease")
        #expect(keyspace.stopsBefore(Stage.job) == "job:{job-7}:before")
        #expect(keyspace.etaBudget(of: "osrm", day: 20_454) == "budget:osrm:20454")
        #expect(keyspace.control == "control")
        #expect(keyspace.link("0a1b") == "link:{0a1b}")
        #expect(keyspace.idempotency("0a1b") == "idempotency:{0a1b}")
        #expect(keyspace.erased(fromShardOf: "job-7") == keyspace.events(of: "job-7") + ":erased")
        #expect(keyspace.viewers(ofLink: "0a1b") == "link:{0a1b}:viewers")
        #expect(AuditEntry.Stream.allCases.map { keyspace.stream($0) } == ["access", "audit"])
    }

    @Test func `all keys of a zone are in its slot, and a rider's zone is in its own slot`() {
        for prefix in ["", "staging:"] {
            let keyspace = Keyspace(prefix: prefix)
            let (zone, rider) = (ZoneStage.zone, ZoneStage.rider)
            let names = [
                (keyspace.rider(rider, in: zone), "rider:{berlin}:rider-1"),
                (keyspace.tasks(of: rider, in: zone), "rider:{berlin}:rider-1:tasks"),
                (keyspace.request("r", of: rider, in: zone), "request:{berlin}:rider-1:r"),
                (keyspace.available(in: zone), "riders:{berlin}:available"),
                (keyspace.due(in: zone), "riders:{berlin}:due"),
                (keyspace.taskOwners(in: zone), "riders:{berlin}:tasks"),
                (keyspace.changeLog(of: zone), "riders:{berlin}:audit"),
                (keyspace.changes(in: zone), "riders:{berlin}:changes"),
                (keyspace.places(in: zone), "riders:{berlin}:geo"),
                (keyspace.placesSeen(in: zone), "riders:{berlin}:seen"),
            ]
            for (name, word) in names { #expect(name == prefix + word) }
            #expect(Set(names.map { HashSlot.of($0.0) }).count == 1)
            #expect(keyspace.home(of: rider) == prefix + "home:{rider-1}")
            #expect(keyspace.moving(rider) == prefix + "moving:{rider-1}")
            #expect(keyspace.zones == prefix + "zones")
            #expect(keyspace.jobs(in: zone) == prefix + "zone:{berlin}:jobs")
            #expect(keyspace.zonesOfJobs == prefix + "zones:jobs")
            #expect(keyspace.gateways == prefix + "gateways")
            #expect(keyspace.gateway("g-1") == prefix + "gateway:{g-1}")
            #expect(keyspace.followed(atGateway: "g-1") == prefix + "gateway:{g-1}:followed")
            #expect(keyspace.ridersConnected(atGateway: "g-1") == prefix + "gateway:{g-1}:riders")
        }
    }

    @Test func `names of different kinds never collide, whatever riders and zones are called`() {
        let keyspace = Keyspace()
        let (zone, rider) = (ZoneID("zone")!, PersonID("zone")!)
        let names = [
            keyspace.rider(rider, in: zone), keyspace.tasks(of: rider, in: zone), keyspace.home(of: rider),
            keyspace.available(in: zone), keyspace.due(in: zone), keyspace.taskOwners(in: zone),
            keyspace.changeLog(of: zone), keyspace.changes(in: zone), keyspace.places(in: zone),
            keyspace.placesSeen(in: zone), keyspace.zones, keyspace.request("tasks", of: rider, in: zone),
        ]
        #expect(Set(names).count == names.count)
    }

    @Test(arguments: ["", "staging:", "a{b}c:"])
    func `every name starts with the prefix`(prefix: String) {
        let (plain, keyspace) = (Keyspace(), Keyspace(prefix: prefix))
        let names = [
            Keyspace.job, Keyspace.log(of:), Keyspace.travel(of:), Keyspace.position(of:), Keyspace.feed(of:),
            Keyspace.events(of:),
        ]
        for name in names { #expect(name(keyspace)(Stage.job) == prefix + name(plain)(Stage.job)) }
        #expect(keyspace.control == prefix + "control")
        #expect(keyspace.link("x") == prefix + "link:{x}")
        #expect(keyspace.stream(.audit) == prefix + "audit")
    }

    @Test(arguments: ["", "staging:", "ü:", "a{b}c:"])
    func `a zone is parsed from its channel, but not from a job's channel`(prefix: String) throws {
        let keyspace = Keyspace(prefix: prefix)
        for name in ["a", "berlin", String(repeating: "Z", count: 64), "_-_"] {
            let zone = try #require(ZoneID(name))
            let channel = keyspace.changes(in: zone)
            #expect(Array(channel.utf8).withUnsafeBytes { keyspace.zone(ofChannel: $0) } == zone)
            #expect(self.job(keyspace, channel) == nil)
        }
        for channel in ["", "riders:{", "riders:{}", "riders:{a", prefix + "riders:{ö}:changes"] {
            #expect(Array(channel.utf8).withUnsafeBytes { keyspace.zone(ofChannel: $0) } == nil, "\(channel)")
        }
    }

    @Test(arguments: ["", "staging:", "ü:", "a{b}c:"])
    func `a job is parsed from its channels`(prefix: String) throws {
        let keyspace = Keyspace(prefix: prefix)
        for name in ["a", "job-7", String(repeating: "Z", count: 64), "_-_"] {
            let job = try #require(JobID(name))
            #expect(self.job(keyspace, keyspace.feed(of: job)) == job)
            #expect(self.job(keyspace, keyspace.events(of: job)) == job)
        }
    }

    /// One name of each kind.
    private func names(_ keyspace: Keyspace) -> [(Keyspace.Kind, String)] {
        let (zone, rider, job) = (ZoneStage.zone, ZoneStage.rider, Stage.job)
        return [
            (.job, keyspace.job(job)), (.log, keyspace.log(of: job)), (.travel, keyspace.travel(of: job)),
            (.position, keyspace.position(of: job)), (.eta, keyspace.eta(of: job)),
            (.etaLease, keyspace.etaLease(of: job)), (.stopsBefore, keyspace.stopsBefore(job)),
            (.etaBudget, keyspace.etaBudget(of: "osrm", day: 1)), (.verdicts, keyspace.verdicts(of: job)),
            (.push, keyspace.push(of: job)),
            (.feed, keyspace.feed(of: job)), (.events, keyspace.events(of: job)), (.ticket, keyspace.ticket("0a")),
            (.signIn, keyspace.signIn("0a")), (.link, keyspace.link("0a")), (.viewers, keyspace.viewers(ofLink: "0a")),
            (.rider, keyspace.rider(rider, in: zone)), (.tasks, keyspace.tasks(of: rider, in: zone)),
            (.request, keyspace.request("r:1", of: rider, in: zone)), (.home, keyspace.home(of: rider)),
            (.moving, keyspace.moving(rider)),
            (.idempotency, keyspace.idempotency("0a")), (.zones, keyspace.zones),
            (.available, keyspace.available(in: zone)), (.due, keyspace.due(in: zone)),
            (.taskOwners, keyspace.taskOwners(in: zone)), (.changeLog, keyspace.changeLog(of: zone)),
            (.changes, keyspace.changes(in: zone)), (.places, keyspace.places(in: zone)),
            (.placesSeen, keyspace.placesSeen(in: zone)), (.jobs, keyspace.jobs(in: zone)),
            (.zonesOfJobs, keyspace.zonesOfJobs), (.gateways, keyspace.gateways), (.gateway, keyspace.gateway("g")),
            (.ridersConnected, keyspace.ridersConnected(atGateway: "g")),
            (.followed, keyspace.followed(atGateway: "g")), (.stream, keyspace.stream(.audit)),
            (.control, keyspace.control), (.jobLinks, keyspace.links(of: job)),
            (.riderJobs, keyspace.jobs(ofRider: rider)), (.customerJobs, keyspace.jobs(ofCustomer: rider)),
            (.eventStream, keyspace.events(of: "a")), (.eventStream, keyspace.erased(fromShardOf: "a")),
            (.outbox, keyspace.outbox(ofSlot: 7)), (.webhooks, keyspace.webhooks), (.webhook, keyspace.webhook("a")),
        ]
    }

    @Test(arguments: ["", "staging:", "a{b}c:"])
    func `every name has exactly one kind`(prefix: String) {
        let keyspace = Keyspace(prefix: prefix)
        for (kind, name) in self.names(keyspace) { #expect(keyspace.kind(of: name) == kind, "\(name)") }
        #expect(Set(self.names(keyspace).map(\.0)) == Set(Keyspace.Kind.allCases).subtracting([.other]))
        for name in ["", "jobs", "job:{a}:nothing", "riders:{a}", "x:y", ":"] {
            #expect(keyspace.kind(of: prefix + name) == .other, "\(name)")
        }
        if !prefix.isEmpty { #expect(keyspace.kind(of: "control") == .other) }
    }

    @Test(arguments: ["", "staging:"])
    func `B36: every key belongs to one role`(prefix: String) {
        let keyspace = Keyspace(prefix: prefix)
        for (_, name) in self.names(keyspace) { #expect(keyspace.role(ofKey: name) != nil, "\(name)") }
        let live = [
            keyspace.travel(of: Stage.job), keyspace.verdicts(of: Stage.job), keyspace.ticket("0"), keyspace.gateways,
        ]
        for name in live { #expect(keyspace.role(ofKey: name) == .live, "\(name)") }
        let ledger = [
            keyspace.job(Stage.job), keyspace.log(of: Stage.job), keyspace.control, keyspace.zonesOfJobs,
            keyspace.stream(.audit),
        ]
        for name in ledger { #expect(keyspace.role(ofKey: name) == .ledger, "\(name)") }
        #expect(keyspace.role(ofKey: "somebody:else") == nil)
    }

    @Test(arguments: ["", "job", "job:{", "job:{}", "job:{}:feed", "job:{a", "job:{a b}:feed", "job:{a{b}:feed"])
    func `no job is parsed from a channel without one`(channel: String) {
        #expect(self.job(Keyspace(), channel) == nil)
    }

    @Test func `all keys of one script are in one slot`() {
        let keyspace = Keyspace(prefix: "staging:")
        let names = [
            keyspace.job(Stage.job), keyspace.log(of: Stage.job), keyspace.travel(of: Stage.job),
            keyspace.position(of: Stage.job), keyspace.feed(of: Stage.job), keyspace.events(of: Stage.job),
        ]
        for name in names {
            // Redis hashes the text between the first opening brace and the next closing one.
            let tag = name.drop { $0 != "{" }.dropFirst().prefix { $0 != "}" }
            #expect(tag == "job-7")
        }
    }
}
