import EnrouteWire
import Testing

@Suite struct ProgressTests {
    private func states(_ kind: JobKind, _ status: JobStatus, reached: JobStatus? = nil) -> String {
        kind.progress(at: status, reached: reached).map { String($0.state.rawValue.first!) }.joined()
    }

    @Test func `CUS-027 AC-001: an order that waits for its vendor is at the first step`() {
        #expect(self.states(.delivery, .pendingVendorAcceptance) == "auuuuu")
    }

    @Test func `CUS-027 AC-002: during preparation, accepted is complete and preparing is active`() {
        let steps = JobKind.delivery.progress(at: .preparing)
        #expect(steps[1] == ProgressStep(.accepted, .complete))
        #expect(steps[2] == ProgressStep(.preparing, .active))
        #expect(self.states(.delivery, .preparing) == "ccauuu")
    }

    @Test func `CUS-027 AC-004: in transit is the active step`() {
        #expect(self.states(.delivery, .inTransit) == "ccccau")
    }

    @Test func `CUS-027 AC-005: when it is delivered all steps are complete`() {
        #expect(self.states(.delivery, .delivered) == "cccccc")
        #expect(self.states(.service, .completed) == "cccc")
    }

    @Test func `CUS-027 AC-006: a cancelled order ends at the step it had reached`() {
        let steps = JobKind.delivery.progress(at: .cancelled, reached: .preparing)
        #expect(steps.map(\.state) == [.complete, .complete] + Array(repeating: .cancelled, count: 4))
        // The reached step is unknown, so no step is complete.
        #expect(JobKind.service.progress(at: .cancelled).allSatisfy { $0.state == .cancelled })
    }

    @Test func `CUS-027 AC-007: without a rider the order stays at the step it had reached and continues from there`() {
        #expect(self.states(.delivery, .allocationFailed, reached: .readyForPickup) == "cccauu")
        // At least accepted, because no other status leads there.
        #expect(self.states(.delivery, .allocationFailed) == "cauuuu")
        #expect(JobStatus.allocationFailed.end == nil)
        #expect(JobStatus.allCases.contains { $0.predecessors.contains(.allocationFailed) })
    }

    @Test(arguments: JobKind.allCases)
    func `exactly one step is active until the end, and no step goes back`(kind: JobKind) {
        for (index, step) in kind.steps.enumerated() {
            let states = kind.progress(at: step).map(\.state)
            #expect(states.count == kind.steps.count)
            #expect(states.prefix(index).allSatisfy { $0 == .complete })
            #expect(states[index] == (step.end == nil ? .active : .complete))
            #expect(states.dropFirst(index + 1).allSatisfy { $0 == .upcoming })
        }
    }
}
