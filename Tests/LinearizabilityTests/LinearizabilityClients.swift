// Four clients that execute a plan concurrently, each over its own connection, and record when each call started and ended. A
// result that a client cannot know (the answer was lost, or the client died) is recorded as unknown.

import EnrouteWire
import LiveState
import Redis
import Synchronization
import TestSupport

/// The logical clock of a history: a counter.
final class Moments: Sendable {
    private let passed = Atomic<Int>(0)
    func next() -> Int { self.passed.add(1, ordering: .sequentiallyConsistent).newValue }
    var count: Int { self.passed.load(ordering: .sequentiallyConsistent) }
}

/// Executes plans.
struct LinearizabilityClients: Sendable {
    /// One per client, and one more for lost answers.
    var callees: [any Callee]
    /// The successor of a server that died, retried until it answers. `nil` when no server may die.
    var successor: (@Sendable () async throws -> any Callee)?
    /// Whether acknowledged writes may be lost when the server dies.
    var isForgetful = false
    /// A client with its own connection, and a function that closes it immediately.
    var mortal: (@Sendable () async throws -> (callee: any Callee, kill: @Sendable () -> Void))?

    /// A call that cannot reach a server for this long has failed.
    static let patience = Duration.seconds(60)
    /// One in this many dying clients is really disconnected; the others only ignore their answer.
    static let killing: UInt64 = 16

    func carryOut(_ plan: Plan, in zone: ZoneID) async throws -> History {
        let moments = Moments()
        let events = try await withThrowingTaskGroup(of: [Event].self) { group in
            for number in plan.clients.indices {
                group.addTask { try await self.act(plan, as: number, in: zone, moments) }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        // The final state.
        let last = try await self.ask(.read, of: self.callees[0], in: zone, request: "", since: moments.next(), moments)
        return History(events: events + [last])
    }

    private func act(_ plan: Plan, as number: Int, in zone: ZoneID, _ moments: Moments) async throws -> [Event] {
        var events: [Event] = []
        for (index, step) in plan.clients[number].enumerated() {
            let request = step.call.hasRequest ? "\(number)-\(index)" : ""
            let (begun, callee) = (moments.next(), self.callees[number])
            switch step.fate {
            case .lastWords:
                events.append(Event(call: step.call, answer: nil, begun: begun, ended: nil))
                await self.die(with: step.call, plan, callee, in: zone, request: request)
                return events
            case .repeated:
                let lost = self.callees[Plan.clientCount]
                async let first = try? lost.answer(step.call, in: zone, request: request)
                let event = try await self.ask(
                    step.call, of: callee, in: zone, request: request, since: begun, moments)
                // The lost answer would have been the same; but one of them may be forgotten.
                if let first = await first, let second = event.answer, first.answer != second, !self.isForgetful {
                    throw Unexplained(
                        text: "\(step.call) was answered with \(first.answer), and its repetition with \(second)")
                }
                events.append(event)
            case .answered:
                events.append(
                    try await self.ask(step.call, of: callee, in: zone, request: request, since: begun, moments))
            }
        }
        return events
    }

    private func die(
        with call: Call, _ plan: Plan, _ callee: any Callee, in zone: ZoneID, request: String
    ) async {
        guard plan.seed.isMultiple(of: Self.killing), let mortal = try? await self.mortal?() else {
            _ = try? await callee.answer(call, in: zone, request: request)
            return
        }
        let (callee, kill) = mortal
        async let unheard = try? callee.answer(call, in: zone, request: request)
        kill()
        _ = await unheard
    }

    /// - Returns: the call and its result, as far as known.
    private func ask(
        _ call: Call, of callee: any Callee, in zone: ZoneID, request: String, since begun: Int, _ moments: Moments
    ) async throws -> Event {
        var event = Event(call: call, answer: nil, begun: begun, ended: nil)
        do {
            let reply = try await callee.answer(call, in: zone, request: request)
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
        if event.answer != nil { event.ended = moments.next() }
        return event
    }
}
