import Testing

/// The checker itself: hand-made histories that are obviously linearizable or not.
@Suite struct LinearizationTests {
    /// Sequential calls.
    private func sequence(_ steps: (Call, Answer)...) -> History {
        History(
            events: steps.enumerated().map { index, step in
                Event(call: step.0, answer: step.1, begun: 2 * index, ended: 2 * index + 1)
            })
    }

    @Test func `sequential calls are linearizable only in their order`() {
        #expect(
            self.sequence((.setOnline, .done), (.assign(0), .done), (.setOffline, .tasks(1))).linearization() == [
                0, 1, 2,
            ])
        #expect(self.sequence((.assign(0), .done), (.setOnline, .done)).linearization() == nil)
        #expect(self.sequence((.setOnline, .done), (.assign(0), .done), (.setOffline, .done)).linearization() == nil)
    }

    @Test func `concurrent calls may have any order, but not both can succeed`() {
        func race(_ first: Answer, _ second: Answer) -> History {
            History(events: [
                Event(call: .setOnline, answer: .done, begun: 0, ended: 1),
                Event(call: .assign(0), answer: first, begun: 2, ended: 5),
                Event(call: .setOffline, answer: second, begun: 3, ended: 4),
            ])
        }
        #expect(race(.done, .tasks(1)).linearization() == [0, 1, 2])
        #expect(race(.offline, .done).linearization() == [0, 2, 1])
        #expect(race(.done, .done).linearization() == nil)
        #expect(race(.offline, .tasks(1)).linearization() == nil)
    }

    @Test func `a call with an unknown result may have taken effect, late or never`() {
        func history(_ last: Answer) -> History {
            History(events: [
                Event(call: .setOnline, answer: nil, begun: 0, ended: nil),
                Event(call: .setOffline, answer: .unchanged, begun: 1, ended: 2),
                Event(call: .assign(0), answer: last, begun: 3, ended: 4),
            ])
        }
        #expect(history(.done).linearization() == [1, 0, 2])
        #expect(history(.offline).linearization() != nil)
        #expect(history(.unreachable).linearization() == nil)
    }

    @Test func `a read must return a state that existed`() {
        var online = RiderState()
        (online.isOnline, online.isReachable) = (true, true)
        #expect(self.sequence((.setOnline, .done), (.read, .state(online))).linearization() != nil)
        #expect(self.sequence((.setOnline, .done), (.read, .state(RiderState()))).linearization() == nil)
        // Back and forth is not a valid explanation.
        let events = [
            Event(call: .setOnline, answer: .done, begun: 0, ended: 9),
            Event(call: .read, answer: .state(online), begun: 1, ended: 2),
            Event(call: .read, answer: .state(RiderState()), begun: 3, ended: 4),
        ]
        #expect(History(events: events).linearization() == nil)
    }

    @Test func `the model never reaches an offline rider with a task`() {
        var (reached, fresh) = (Set([RiderState()]), [RiderState()])
        let calls: [Call] =
            [.setOnline, .setOffline, .heartbeat, .expire, .read, .approve(true), .approve(false)]
            + (0..<3).flatMap { [.assign($0), .release($0)] }
        while let state = fresh.popLast() {
            for after in calls.flatMap({ state.outcomes(of: $0).map(\.after) }) where reached.insert(after).inserted {
                fresh.append(after)
            }
        }
        #expect(reached.count > 20)
        #expect(reached.allSatisfy { $0.isOnline || $0.tasks == 0 })
    }
}
