import LiveState
import Testing
import Webhooks

@Suite struct DeliveryLanesTests {
    private func event(_ number: Int, of subject: String) -> WaitingEvent {
        WaitingEvent(LedgerEvent(id: "e.\(number)", kind: .closed, time: 1, subject: subject, data: "{}"))
    }

    @Test func `waiting events leave half of the requests to new ones`() {
        var lanes = DeliveryLanes()
        for number in 0..<40 { lanes.addWaiting("old-\(number)") }
        var started: [String] = []
        while let next = lanes.next() { started.append(next) }
        #expect(started == (0..<8).map { "old-\($0)" } && lanes.waiting == 40)
        for number in 0..<40 { lanes.add("new-\(number)", [self.event(number, of: "new-\(number)")]) }
        started = []
        while let next = lanes.next() { started.append(next) }
        #expect(started == (0..<8).map { "new-\($0)" })
        lanes.remove("old-0")
        #expect(lanes.next() == "old-8")
        lanes.remove("new-0")
        #expect(lanes.next() == "new-8")
        #expect(lanes.next() == nil)
    }

    @Test func `new events that are moved to the waiting list no longer hold up the stream`() {
        var lanes = DeliveryLanes()
        let events = [1, 2].map { self.event($0, of: "job-1") }
        lanes.add("job-1", events)
        lanes.add("job-2", events)
        #expect(lanes.next() == "job-1")
        #expect(lanes.first("job-1") == events[0])
        #expect(lanes.move("job-1") == events && lanes.move("job-2") == events)
        #expect(lanes.first("job-1") == nil && lanes.next() == nil && lanes.hasUnsettled)
        lanes.moved("job-1")
        lanes.moved("job-2")
        // The running lane continues with the waiting list. The other one starts when it is due.
        #expect(!lanes.hasUnsettled && lanes.place(of: "job-1") == .waiting && !lanes.has("job-2"))
        lanes.remove("job-1")
        #expect(lanes.count == 0 && lanes.waiting == 0)
    }

    @Test func `a lane is quiet only when nothing was appended meanwhile`() {
        var lanes = DeliveryLanes()
        lanes.beginPark("job-1")
        lanes.addWaiting("job-1")
        let before = lanes.parks("job-1")
        #expect(!lanes.isQuiet("job-1", since: before))
        lanes.endPark("job-1")
        #expect(!lanes.isQuiet("job-1", since: before))
        #expect(lanes.isQuiet("job-1", since: lanes.parks("job-1")))
    }
}
