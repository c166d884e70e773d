import LiveState
import Testing
import Webhooks

/// The events that a webhook delivers of a page, if jobs of the page were erased.
@Suite struct NewEventsTests {
    private func event(
        _ number: Int, _ kind: LedgerEvent.Kind = .closed, of subject: String = "job-1", epoch: String = ""
    ) -> LedgerEvent {
        LedgerEvent(id: "e.\(number)", kind: kind, time: 1, subject: subject, epoch: epoch, data: "{}")
    }

    private func ids(_ new: NewEvents, of subject: String = "job-1") -> [String] {
        new.waiting[subject, default: []].map(\.id)
    }

    @Test func `the event about an erasure removes those before it, and no event of another job or of a rider`() {
        var new = NewEvents()
        for event in [
            self.event(1, .created, epoch: "a"), self.event(2, .riderAvailabilityChanged),
            self.event(3, .trackingChanged), self.event(4, .created, of: "job-2", epoch: "a"),
            self.event(5, .erased, epoch: "a"), self.event(6, .created, epoch: "b"),
        ] {
            new.add(event, isReceived: true)
        }
        #expect(self.ids(new) == ["e.2", "e.5", "e.6"] && self.ids(new, of: "job-2") == ["e.4"])
        #expect(new.erased == ["job-1"])
    }

    @Test func `each erasure of a job is delivered, and a repeat of an event of an erased record is not`() {
        var new = NewEvents()
        for event in [
            self.event(1, .created, epoch: "a"), self.event(2, .erased, epoch: "a"),
            self.event(1, .created, epoch: "a"), self.event(3, .created, epoch: "b"),
            self.event(4, .erased, epoch: "b"), self.event(5, .created, epoch: "c"),
        ] {
            new.add(event, isReceived: true)
        }
        #expect(self.ids(new) == ["e.2", "e.4", "e.5"])
    }

    @Test func `an erasure counts for a webhook that does not receive the event about it`() {
        var new = NewEvents()
        new.add(self.event(1, .created, epoch: "a"), isReceived: true)
        new.add(self.event(2, .statusChanged, epoch: "a"), isReceived: false)
        new.add(self.event(3, .erased, epoch: "a"), isReceived: false)
        #expect(new.waiting.isEmpty && new.erased == ["job-1"])
    }
}
