import EnrouteWire
import Testing

@Suite struct SnapshotTests {
    private static func event(_ number: UInt64) -> StatusEvent {
        StatusEvent(
            epoch: "e1", previous: number == 1 ? nil : StatusID("\(number - 1)-0"), id: StatusID("\(number)-0")!,
            status: number.isMultiple(of: 2) ? .preparing : .allocationFailed, at: Int64(number))
    }

    private static let fix = Fix(at: 1_700_000_000_000, place: .somewhere, headingDegrees: 12.5)
    private static let position =
        Array(#"{"type":"location","id":"1700000000456789","at":1700000000000"#.utf8)
        + PublishedLocation.tail(of: fix, job: .job7, receivedAt: 1_700_000_000_200)

    private static func snapshot(_ change: (inout Snapshot) -> Void = { _ in }) -> Snapshot {
        var snapshot = Snapshot(
            kind: .service, status: .onTheWay, statusAt: 1_700_000_000_000, epoch: "e1", id: StatusID("9-1")!,
            tracking: .waiting)
        change(&snapshot)
        return snapshot
    }

    private static let snapshots = [
        snapshot(),
        snapshot { $0.destination = .somewhere },
        snapshot { $0.customerNote = CustomerNote("Gate code 42,\nthird \"floor\"") },
        snapshot { $0.recipient = Recipient(name: "Anna \"A\"", contact: "tel:+390612345,17") },
        snapshot { $0.travelDeadline = 1_700_000_000_000 },
        snapshot {
            $0.tracking = .live
            $0.position = position
            $0.positionAgeMilliseconds = 250
        },
        snapshot { $0.missed = [event(1)] },
        snapshot {
            $0.missed = (1...64).map(event)
            $0.position = position
            $0.destination = .somewhere
        },
    ]

    @Test(arguments: snapshots)
    func `a snapshot survives encoding and decoding`(snapshot: Snapshot) throws {
        for message in [ServerMessage.subscribed(job: .job7, snapshot), .reset(job: .job7, snapshot)] {
            #expect(try message.encoded.withUnsafeBytes { try ServerMessage($0) } == message)
        }
    }

    @Test func `the snapshot contains the position with the bytes that were published`() {
        let snapshot = Self.snapshot { $0.position = Self.position }
        let text = String(decoding: snapshot.json(job: .job7), as: UTF8.self)
        #expect(text.contains(#""position":\#(String(decoding: Self.position, as: UTF8.self)),"#))
        #expect(snapshot.location?.fix == Self.fix)
        #expect(snapshot.location?.id == 1_700_000_000_456_789)
    }

    @Test func `a snapshot without a position contains null, and one with an invalid position has no location`() {
        #expect(String(decoding: Self.snapshot().json(job: .job7), as: UTF8.self).contains(#""position":null"#))
        #expect(Self.snapshot().location == nil)
        #expect(Self.snapshot { $0.position = Array("{}".utf8) }.location == nil)
    }

    @Test func `missed events keep their order and their previous ids`() throws {
        let snapshot = Self.snapshot { $0.missed = (1...10).map(Self.event) }
        let bytes = ServerMessage.reset(job: .job7, snapshot).encoded
        guard case .reset(_, let read) = try bytes.withUnsafeBytes({ try ServerMessage($0) }) else {
            Issue.record("not a reset")
            return
        }
        #expect(read.missed.map(\.id) == snapshot.missed.map(\.id))
        #expect(read.missed.first?.previous == nil)
        for (earlier, later) in zip(read.missed, read.missed.dropFirst()) { #expect(later.previous == earlier.id) }
    }

    @Test func `REST returns the same members, with the job before them`() {
        let snapshot = Self.snapshot()
        let message = String(decoding: ServerMessage.subscribed(job: .job7, snapshot).encoded, as: UTF8.self)
        let rest = String(decoding: snapshot.json(job: .job7), as: UTF8.self)
        let members = rest.dropFirst(#"{"job":"job-7","#.count)
        #expect(rest.hasPrefix(#"{"job":"job-7","#))
        #expect(message.hasSuffix(#""snapshot":{"# + members + "}"))
    }
}
