import EnrouteWire
import Testing

@Suite struct RiderChangeTests {
    private static let change = RiderChange(
        zone: ZoneID("berlin")!, version: 1_795_290_854_555_855, previous: 1_795_290_854_555_001,
        rider: PersonID("rider-1")!, kind: .arrivedAtStore, status: .online, isReachable: true, isApproved: false,
        tasks: 1, capacity: 2, isAvailable: false, job: JobID("job-7"), at: 1_795_290_854_555)

    private static let text =
        #"{"type":"rider","zone":"berlin","version":1795290854555855,"prev":1795290854555001,"rider":"rider-1","#
        + #""change":"arrived_at_store","status":"online","reachable":true,"approved":false,"draining":true,"tasks":1,"#
        + #""capacity":2,"available":false,"job":"job-7","at":1795290854555}"#

    private func read(_ text: String) throws -> RiderChange {
        try Array(text.utf8).withUnsafeBytes { try RiderChange($0) }
    }

    @Test func `a change is encoded and decoded as the scripts publish it`() throws {
        #expect(String(decoding: Self.change.encoded, as: UTF8.self) == Self.text)
        #expect(try self.read(Self.text) == Self.change)
        var without = Self.change
        (without.job, without.kind) = (nil, .online)
        #expect(try self.read(String(decoding: without.encoded, as: UTF8.self)) == without)
    }

    @Test func `unknown members of a change are ignored`() throws {
        #expect(try self.read(Self.text.replacing(#""tasks":1"#, with: #""later":{"a":[1]},"tasks":1"#)) == Self.change)
    }

    @Test(arguments: [
        "", "{}", "[]", #"{"type":"rider"}"#, Self.text + "x",
        Self.text.replacing("rider\",\"zone", with: "status\",\"zone"),
        Self.text.replacing("berlin", with: "a b"), Self.text.replacing("arrived_at_store", with: "flying"),
        Self.text.replacing(#""status":"online""#, with: #""status":"asleep""#),
        Self.text.replacing(#""reachable":true"#, with: #""reachable":1"#),
        Self.text.replacing(#""version":1795290854555855"#, with: #""version":1.5"#),
    ])
    func `a message that is not a change is refused`(text: String) {
        #expect(throws: BadMessage.self) { _ = try self.read(text) }
    }

    @Test func `a rider who is no longer approved drains until the last task ends`() {
        var change = Self.change
        #expect(change.isDraining)
        change.tasks = 0
        #expect(!change.isDraining)
        (change.tasks, change.isApproved) = (1, true)
        #expect(!change.isDraining)
    }
}
