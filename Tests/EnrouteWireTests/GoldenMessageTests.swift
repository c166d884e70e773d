// Messages as they are sent, one file for each type and direction. These tests and those of enroute.js
// (Tests/JavaScript/golden.test.mjs) read the same files, so both sides interpret messages alike.

import EnrouteWire
import Foundation
import Testing

@Suite struct GoldenMessageTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden")
    private static let documents = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources/WebAssets/api")

    private static let visit = JobID("visit-1")!
    private static let other = JobID("visit-2")!
    private static let rome = ZoneID("rome")!
    private static let phone = DeviceID("phone-1")
    private static let token = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbm5hIn0.c2lnbmF0dXJl"
    private static let begun = StatusID("1795248610000-0")!
    private static let left = StatusID("1795248617611-0")!
    private static let fix = Fix(
        at: 1_795_248_617_626, place: Coordinate(latitude: 41.9028, longitude: 12.4964)!, accuracyMeters: 5,
        speedMetersPerSecond: 8.2, headingDegrees: 47)

    /// The message of each line.
    private static let client: [String: [ClientMessage]] = [
        "auth": [.auth(.token(token)), .auth(.link("5f0c2e7a91b34d6688e0c1a2b3d4e5f6"))],
        "refresh": [.refresh(token: token)],
        "subscribe": [
            .subscribe(job: visit, since: nil), .subscribe(job: visit, since: ResumePoint(epoch: "8k2p", id: left)),
        ],
        "unsubscribe": [.unsubscribe(job: visit)],
        "travel": [.travel(job: visit, active: true), .travel(job: visit, active: false)],
        "location": [
            .location(LocationReport(job: visit, sequence: 1, fixes: [fix])),
            .location(
                LocationReport(
                    job: visit, otherJobs: [other], sequence: 2,
                    fixes: [
                        Fix(at: 1_795_248_619_626, place: Coordinate(latitude: -41.9029123, longitude: -12.4965)!),
                        Fix(
                            at: 1_795_248_618_626, place: Coordinate(latitude: 41.9029, longitude: 12.4965)!,
                            accuracyMeters: 12.5),
                    ])),
        ],
        "availability": [.availability(.online, device: phone), .availability(.offline, device: nil)],
        "presence": [
            .presence(nil, device: nil), .presence(Coordinate(latitude: 41.9, longitude: 12.5)!, device: phone),
        ],
        "unavailable": [.unavailable(job: visit, .permissionDenied), .unavailable(job: nil, .hidden)],
        "watch": [.watch(zone: rome, since: nil), .watch(zone: rome, since: 1_795_248_617_626_123)],
        "unwatch": [.unwatch(zone: rome)],
        "ping": [.ping],
    ]

    private static let statuses = [
        StatusEvent(epoch: "8k2p", previous: nil, id: begun, status: .assigned, at: 1_795_248_610_000),
        StatusEvent(epoch: "8k2p", previous: begun, id: left, status: .onTheWay, at: 1_795_248_617_611),
    ]

    private static var followed: Snapshot {
        var snapshot = Snapshot(
            kind: .service, status: .onTheWay, statusAt: 1_795_248_617_611, epoch: "8k2p", id: left,
            destination: Coordinate(latitude: 41.9, longitude: 12.5), geocoding: .ok, tracking: .stale,
            travelDeadline: 1_795_263_017_611, position: published(fix, id: "1795248617626123"),
            positionAgeMilliseconds: 31_000, eta: ArrivalEstimate(state: .recalculating, at: 1_795_248_648_630),
            missed: statuses)
        snapshot.unavailable = .unavailableNetwork
        (snapshot.vendor, snapshot.vendorAddress) = ("Da Gino & Söhne", "Via Appia 1, Roma")
        snapshot.riderCard = RiderCard(
            name: "Rosa", photo: "https://photos.example/rosa.jpg", vehicle: .cargoBike, plate: "AB 123",
            contact: "tel:+390612345,42")
        snapshot.display = JobDisplay(
            orderNumber: "A-1042", items: ["2 × Margherita"], note: "Third floor\nring twice",
            window: TimeWindow(from: 1_795_248_600_000, until: 1_795_250_400_000))
        snapshot.metadata = try? JobMetadata(["tenant": "north", "shop": "17"])
        snapshot.recipient = Recipient(
            name: "Anna", address: "Via Nomentana 3", floor: "3rd floor", contact: "tel:+390612345,17")
        return snapshot
    }

    private static let handedOver = Snapshot(
        kind: .service, status: .onTheWay, statusAt: 1_795_248_617_611, epoch: "8k2p", id: left, tracking: .ended,
        reason: .reassigned)

    private static let change = RiderChange(
        zone: rome, version: 1_795_248_618_000_456, previous: 1_795_248_617_626_123, rider: PersonID("rider-7")!,
        kind: .assigned, status: .online, isReachable: true, isApproved: true, tasks: 1, capacity: 1,
        isAvailable: false, job: JobID("order-3"), at: 1_795_248_618_000)

    private static let row = JobRow(
        job: JobID("order-7")!, kind: .delivery, status: .inTransit, statusAt: 1_795_248_617_611,
        customer: PersonID("anna")!, rider: PersonID("rider-1")!, tracking: .stale, unavailable: .lowBattery,
        seenAt: 1_795_248_657_611, deadline: 1_795_263_017_611, arrivesAt: 1_795_249_337_630,
        promisedBy: 1_795_249_200_000, orderNumber: "A-1042", geocoding: .low, followers: 2)

    private static let refusals = [
        Refusal(
            replyTo: "subscribe", job: visit, code: .notFound,
            message: "There is no such job, or you have no access to it."),
        Refusal(
            replyTo: "travel", job: visit, code: .unavailable, message: "Try again \"shortly\".",
            retryInMilliseconds: 1500),
        Refusal(
            replyTo: "availability", code: .activeTask, message: "You cannot go offline during an active delivery.",
            tasks: [JobID("order-1")!, JobID("order-2")!]),
        Refusal(
            replyTo: "watch", zone: rome, code: .forbidden,
            message: "Only services and operations staff can watch pools."),
        Refusal(
            replyTo: "location", job: visit, code: .implausiblePosition, message: "Wait for a better one.",
            reason: "inaccurate", ref: MessageRef("fix \"17\"")),
    ]

    /// The messages that a gateway encodes, except for locations, which `PublishedLocation` encodes.
    private static let server: [String: [ServerMessage]] = [
        "welcome": [
            .welcome(
                Welcome(
                    session: "1f-3", serverTime: 1_795_248_617_626, pingIntervalSeconds: 25, limits: limits))
        ],
        "subscribed": [.subscribed(job: visit, followed)], "reset": [.reset(job: visit, handedOver)],
        "status": statuses.reversed().map { .status(job: visit, $0) },
        "tracking": [
            .tracking(job: visit, .live, nil), .tracking(job: visit, .paused, .deactivated),
            .tracking(job: visit, .ended, .timeLimit),
        ],
        "eta": [
            .eta(
                job: visit,
                ArrivalEstimate(
                    state: .ok, arrivesAt: 1_795_249_337_630, seconds: 720, source: "built_in", confidence: .low,
                    at: 1_795_248_617_630)),
            .eta(job: visit, ArrivalEstimate(state: .unavailable, at: 1_795_248_617_630, stopsBefore: 1)),
            .eta(
                job: visit,
                ArrivalEstimate(
                    state: .ok, arrivesAt: 1_795_249_337_630, seconds: 720, source: "built_in", confidence: .low,
                    at: 1_795_248_617_630, earliestAt: 1_795_249_092_110, latestAt: 1_795_250_007_950)),
            .eta(
                job: visit,
                ArrivalEstimate(
                    state: .ok, arrivesAt: 1_795_249_337_630, seconds: 720, source: "osrm", confidence: .medium,
                    at: 1_795_248_617_630,
                    route: RemainingRoute(polyline: "ocw~FougkA?_InPoK", meters: 485, seconds: 88))),
        ],
        "ended": [.ended(job: visit, .completed)], "rate": [.rate(seconds: 2.5), .rate(seconds: 8)],
        "proximity": [.proximity(job: visit, .arrived)],
        "unavailable": [
            .unavailable(job: visit, .unavailableNetwork, .network), .unavailable(job: visit, .unavailableHidden, nil),
        ],
        "pool": [
            .pool(
                PoolView(
                    zone: rome, version: 1_795_248_617_626_123,
                    .riders([PoolMember(rider: PersonID("rider-7")!, heartbeat: 1_795_248_617_626)], count: 1))),
            .pool(PoolView(zone: rome, version: 1_795_248_618_000_456, .changes([change]))),
        ],
        "jobs": [
            .jobs(ZoneJobsView(zone: rome, isReset: true, count: 1, jobs: [row])),
            .jobs(ZoneJobsView(zone: rome, count: 0, gone: [JobID("order-7")!])),
        ],
        "places": [
            .places(
                ZonePlacesView(
                    zone: rome, isReset: true,
                    places: [
                        ZonePlace(
                            job: JobID("order-7")!, rider: PersonID("rider-1")!,
                            destination: Coordinate(latitude: 41.91, longitude: 12.5)!,
                            vendor: Coordinate(latitude: 41.9, longitude: 12.49)!,
                            position: Coordinate(latitude: 41.9028, longitude: 12.4964)!, heading: 47,
                            at: 1_795_248_617_626),
                        ZonePlace(
                            rider: PersonID("rider-7")!, position: Coordinate(latitude: 41.9, longitude: 12.49)!,
                            at: 1_795_248_617_611),
                    ])),
            .places(
                ZonePlacesView(zone: rome, goneJobs: [JobID("order-7")!], goneRiders: [PersonID("rider-7")!])),
        ],
        "rider": [.rider(change)], "degraded": [.degraded], "restored": [.restored],
        "ok": [
            .ok(replyTo: "travel", job: visit, sequence: nil, deadline: 1_795_263_017_611),
            .ok(replyTo: "location", job: visit, sequence: 17, deadline: nil),
            .ok(replyTo: "availability", job: nil, sequence: nil, deadline: nil, ref: MessageRef("7")),
        ],
        "error": refusals.map { .error($0) }, "pong": [.pong(serverTime: 1_795_248_617_626)],
        "goaway": [.goaway(retryInMilliseconds: 4200)],
    ]

    private static let limits = {
        var limits = Limits()
        (limits.messageBytes, limits.subscriptions, limits.positionsPerSecond) = (4096, 10, 2)
        return limits
    }()

    /// Composes the message as lua/publish_location.lua does.
    private static func published(_ fix: Fix, id: String) -> [UInt8] {
        Array(#"{"type":"location","id":"\#(id)","at":\#(fix.at)"#.utf8)
            + PublishedLocation.tail(of: fix, job: visit, receivedAt: fix.at + 4)
    }

    private static func lines(_ direction: String, _ kind: String) throws -> [String] {
        let file = Self.folder.appending(path: "\(direction)/\(kind).jsonl")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
    }

    @Test func `every golden client message is decoded as expected and encoded again`() throws {
        for (kind, messages) in Self.client {
            let lines = try Self.lines("client", kind)
            #expect(try lines.map(clientMessage) == messages, "\(kind)")
            #expect(messages.map { String(decoding: $0.encoded, as: UTF8.self) } == lines, "\(kind)")
        }
    }

    @Test func `every golden gateway message is encoded byte for byte and decoded again`() throws {
        for (kind, messages) in Self.server {
            let lines = try Self.lines("server", kind)
            #expect(messages.map { String(decoding: $0.encoded, as: UTF8.self) } == lines, "\(kind)")
            #expect(try lines.map(serverMessage) == messages, "\(kind)")
        }
    }

    @Test func `a location consists of the part of the script and the part of the gateway`() throws {
        let place = Coordinate(latitude: 41.9029123, longitude: -12.4965)!
        let positions = [
            Self.published(Self.fix, id: "1795248617626123"),
            Self.published(Fix(at: 1_795_248_618_626, place: place, isSnapped: true), id: "1795248618626124"),
        ]
        #expect(try Self.lines("server", "location") == positions.map { String(decoding: $0, as: UTF8.self) })
    }

    @Test(arguments: [("client", Set(client.keys)), ("server", Set(server.keys).union(["location"]))])
    func `every documented message type has a golden file, and every file a type`(
        direction: String, kinds: Set<String>
    ) throws {
        struct Message: Decodable { let name: String }
        let document = try Data(contentsOf: Self.documents.appending(path: "\(direction)-messages.json"))
        let documented = try JSONDecoder().decode([String: Message].self, from: document).values.map(\.name)
        let folder = Self.folder.appending(path: direction).path
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).map { $0.dropLast(".jsonl".count) }
        #expect(Set(files.map(String.init)) == Set(documented))
        #expect(kinds == Set(documented))
    }
}
