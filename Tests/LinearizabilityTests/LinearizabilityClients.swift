// Four clients that execute a plan concurrently, each over its own connection, and record when each call started and ended. A
// result that a client cannot know (the answer was lost, or the client died) is recorded as unknown.

import EnrouteWire
import LiveState
import Redis
import Synchronization
import TestSupport

/// The logical clock of a history: a counter.
final class LogicalClock: Sendable {
    private let passed = Atomic<Int>(0)
    func next() -> Int { self.passed.add(1, ordering: .sequentiallyConsistent).newValue }
    var count: Int { self.passed.load(ordering: .sequentiallyConsistent) }
}

/// Executes plans.
struct LinearizabilityClients: Sendable {
    /// One per client, and one more for lost answers.
    var executors: [any CallExecutor]
    /// The successor of a server that died, retried until it answers. `nil` when no server may die.
    var successor: (@Sendable () async throws -> any CallExecutor)?
    /// Whether acknowledged writes may be lost when the server dies.
    var isForgetful = false
    /// A client with its own connection, and a function that closes it immediately.
    var mortal: (@Sendable () async throws -> (executor: any CallExecutor, kill: @Sendable () -> Void))?

    /// A call that cannot reach a server for this long has failed.
    static let patience = Duration.seconds(60)
    /// One in this many dying clients is really disconnected; the others only ignore their answer.
    static let killing: UInt64 = 16

    func carryOut(_ plan: Plan, in zone: ZoneID) async throws -> History {
        let clock = LogicalClock()
        let events = try await withThrowingTaskGroup(of: [Event].self) { group in
            for number in plan.clients.indices {
                group.addTask { try await self.act(plan, as: number, in: zone, clock) }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        // The final state.
        let last = try await self.ask(.read, of: self.executors[0], in: zone, request: "", since: clock.next(), clock)
        return History(events: events + [last])
    }

    private func act(_ plan: Plan, as number: Int, in zone: ZoneID, _ clock: LogicalClock) async throws -> [Event] {
        var events: [Event] = []
        for (index, step) in plan.clients[number].enumerated() {
            let request = step.call.hasRequest ? "\(number)-\(index)" : ""
            let (begun, executor) = (clock.next(), self.executors[number])
            switch step.fate {
            case .lastWords:
                events.append(Event(call: step.call, answer: nil, begun: begun, ended: nil))
                await self.die(with: step.call, plan, executor, in: zone, request: request)
                return events
            case .repeated:
                let lost = self.executors[Plan.clientCount]
                async let first = try? lost.answer(step.call, in: zone, request: request)
                let event = try await self.ask(
                    step.call, of: executor, in: zone, request: request, since: begun, clock)
                // The lost answer would have been the same; but one of them may be forgotten.
                if let first = await first, let second = event.answer, first.answer != second, !self.isForgetful {
                    throw UnexplainedResult(
                        text: "\(step.call) was answered with \(first.answer), and its repetition with \(second)")
                }
                events.append(event)
            case .answered:
                events.append(
                    try await self.ask(step.call, of: executor, in: zone, request: request, since: begun, clock))
            }
        }
        return events
    }

    private func die(
        with call: Call, _ plan: Plan, _ executor: any CallExecutor, in zone: ZoneID, request: String
    ) async {
        guard plan.seed.isMultiple(of: Self.killing), let mortal = try? await self.mortal?() else {
            _ = try? await executor.answer(call, in: zone, request: request)
            return
        }
        let (executor, kill) = mortal
        async let unheard = try? executor.answer(call, in: zone, request: request)
        kill()
        _ = await unheard
    }

    /// - Returns: the call and its result, as far as known.
    private func ask(
        _ call: Call, of executor: any CallExecutor, in zone: ZoneID, request: String, since begun: Int,
        _ clock: LogicalClock
    ) async throws -> Event {
        var event = Event(call: call, answer: nil, begun: begun, ended: nil)
        do {
            let reply = try await executor.answer(call, in: zone, request: request)
            (event.answer, event.isForgettable) = (reply.answer, self.isForgetful && !reply.isDurable)
        } catch let error as RedisError {
            guard let successor else { throw error }
            // Without a request id it could be executed twice.
            guard call.hasRequest || call == .read else { return event }
            var reply: Reply?
            _ = await eventually(within: Self.patience) {
                reply = try? await successor().answer(call, in: zone, request: request)
                return reply != nil
            }
            (event.answer, event.isLater) = (reply?.answer, self.isForgetful)
        }
        if event.answer != nil { event.ended = clock.next() }
        return event
    }
}
