// Four clients that carry out a plan at the same time, each with a connection of its own, and write down when each call began and
// ended. What a client can not know (its answer was lost, or it died) is written down as not known.

import EnrouteWire
import LiveState
import Redis
import Synchronization
import TestSupport

/// The clock of a history: it only counts.
final class Moments: Sendable {
    private let passed = Atomic<Int>(0)
    func next() -> Int { self.passed.add(1, ordering: .sequentiallyConsistent).newValue }
    var count: Int { self.passed.load(ordering: .sequentiallyConsistent) }
}

/// Carries plans out.
struct LinearizabilityClients: Sendable {
    /// One for each client, and one more for answers that are lost.
    var callees: [any Callee]
    /// Who answers in the place of the one that died; asked again until it does. `nil` when nobody may die.
    var successor: (@Sendable () async throws -> any Callee)?
    /// Whether what was answered may be forgotten when who answered dies.
    var isForgetful = false
    /// A client with a connection of its own, and what ends it at once.
    var mortal: (@Sendable () async throws -> (callee: any Callee, kill: @Sendable () -> Void))?

    /// A call that has found nobody for so long has failed.
    static let patience = Duration.seconds(60)
    /// Of the clients that die, one in so many is really killed; the others only go away without looking at their answer.
    static let killing: UInt64 = 16

    func carryOut(_ plan: Plan, in zone: ZoneID) async throws -> History {
        let moments = Moments()
        let events = try await withThrowingTaskGroup(of: [Event].self) { group in
            for number in plan.clients.indices {
                group.addTask { try await self.act(plan, as: number, in: zone, moments) }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        // What came of it all.
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
                // Had it come, it would have said the same; but one may be forgotten.
                if let first = await first, let second = event.answer, first.answer != second, !self.isForgetful {
                    throw Unexplained(text: "\(step.call) was answered \(first.answer), and repeated \(second)")
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

    /// - Returns: the call and what is known of its answer.
    private func ask(
        _ call: Call, of callee: any Callee, in zone: ZoneID, request: String, since begun: Int, _ moments: Moments
    ) async throws -> Event {
        var event = Event(call: call, answer: nil, begun: begun, ended: nil)
        do {
            let reply = try await callee.answer(call, in: zone, request: request)
            (event.answer, event.isForgettable) = (reply.answer, self.isForgetful && !reply.isDurable)
        } catch let error as RedisError {
            guard let successor else { throw error }
            // Without a request id it might be done twice.
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
