import EnrouteWire
import Testing

@testable import HTTPValues
@testable import REST
@testable import Jobs
@testable import LiveState

@Suite struct EntityTagTests {
    private static let head = StatusID("1795248617611-42")!

    private static func view(
        _ change: (inout JobRecord) -> Void = { _ in }, feed: JobFeed.State = JobFeed.State(),
        unavailable: UnavailableReason? = nil, card: RiderCard? = nil, now: Int64 = 1_795_248_700_000
    ) -> JobView {
        var record = JobRecord(
            kind: .service, customer: PersonID("anna")!, rider: PersonID("rider-1")!, zone: nil,
            destination: Coordinate(latitude: 41.9, longitude: 12.5), vendor: nil, status: .onTheWay,
            statusAt: 1_795_248_617_611, epoch: "8k2p", head: Self.head, isTravelling: true, travelDeadline: nil,
            fence: 1)
        change(&record)
        var notes = ValidationSummary()
        notes.unavailable = unavailable
        return JobView(
            JobLedger.Recovery(record: record, isReset: false, missed: []), feed, notes, card: card, now: now,
            freshness: .seconds(30))
    }

    private static func feed(_ id: String) -> JobFeed.State {
        JobFeed.State(
            rider: PersonID("rider-1")!, deadline: nil,
            position: Array(#"{"type":"location","id":"\#(id)","at":1"#.utf8))
    }

    @Test func `a tag is strong and contains the epoch, the ID of the newest status and the revision`() {
        let tag = EntityTag(Self.view { $0.revision = 7 }).description
        #expect(tag.wholeMatch(of: /"8k2p\.1795248617611-42\.7-[0-9a-f]{16}"/) != nil, "\(tag)")
    }

    @Test func `everything that a reader sees changes the tag, except the age of a position`() {
        let (id, next) = ("1795248700000000", "1795248700000001")
        let now: Int64 = 1_795_248_701_000
        let shown = EntityTag(Self.view(feed: Self.feed(id), now: now))
        let tags = [
            // The scripts of Redis count every change of a record: of its status, of its values, and of who shares a position.
            Self.view(), Self.view { $0.head = StatusID("1795248617611-43")! }, Self.view { $0.epoch = "other" },
            Self.view { $0.fence = 2 }, Self.view { $0.revision = 1 },
            Self.view { $0.travelDeadline = 1_795_249_000_000 }, Self.view(feed: Self.feed(next), now: now),
            Self.view(feed: Self.feed(id), now: now + 30_000),
            Self.view(feed: Self.feed(id), unavailable: .network, now: now + 30_000),
            Self.view(card: RiderCard(name: "Rosa")), Self.view(card: RiderCard(name: "Ugo")),
        ].map { EntityTag($0) }
        #expect(Set(tags + [shown]).count == tags.count + 1)
        #expect(EntityTag(Self.view(feed: Self.feed(id), now: now + 1000)) == shown)
    }

    @Test func `the tag reveals nothing that a customer does not see`() {
        let place = PickupPlace(place: Coordinate(latitude: 1, longitude: 1), name: "Da Gino", address: "Via Appia 1")
        let views = [
            Self.view { $0.rider = PersonID("rider-2") }, Self.view { $0.rider = nil },
            Self.view { $0.zone = ZoneID("rome") },
            Self.view { $0.customer = PersonID("bert")! }, Self.view { $0.vendor = place },
        ]
        for view in views { #expect(EntityTag(view) == EntityTag(Self.view())) }
    }

    @Test func `If-None-Match accepts a tag, a weak tag, a list and a star`() {
        let tag = EntityTag(Self.view())
        for header in ["\(tag)", "W/\(tag)", "\"a\", \(tag)", "\"a\" ,\tW/\(tag) ", "*"] {
            #expect(tag.matches(ifNoneMatch: header), "\(header)")
        }
        for header in ["", "\"a\"", String("\(tag)".dropFirst().dropLast()), "w/\(tag)", "\(tag)x"] {
            #expect(!tag.matches(ifNoneMatch: header), "\(header)")
        }
    }

    @Test func `If-Match accepts the tag of a job or the ID of its newest status event`() {
        let tag = EntityTag(Self.view())
        let known = Precondition.head(ExpectedHead(epoch: "8k2p", id: Self.head))
        #expect(Precondition(ifMatch: "\(tag)") == known)
        #expect(Precondition(ifMatch: " \"8k2p.\(Self.head)\" ") == known)
        #expect(Precondition(ifMatch: "\"\(Self.head)\"") == .head(ExpectedHead(id: Self.head)))
        #expect(Precondition(ifMatch: nil) == .none && Precondition(ifMatch: "*") == .none)
        for header in ["\"\"", "\"x\"", "W/\(tag)", "\"8k 2p.\(Self.head)\"", "\"a.b.c.d\"", "\"é.\(Self.head)\""] {
            #expect(Precondition(ifMatch: header) == .never, "\(header)")
        }
        // B10: the quotes of a tag are optional.
        #expect(Precondition(ifMatch: "\(Self.head)") == .head(ExpectedHead(id: Self.head)))
        for header in ["0", "x", "a.b.c.d"] { #expect(Precondition(ifMatch: header) == .never, "\(header)") }
        for header in ["", "x y", "\"", "\(tag), \(tag)", "W/", "\"a"] {
            #expect(Precondition(ifMatch: header) == .malformed, "\(header)")
        }
    }
}
