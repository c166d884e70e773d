// Executes the calls of a history: with the scripts, through the typed calls of LiveState, or, as a negative control
// that the checker must reject, with the same steps as separate commands.

import EnrouteWire
import LiveState
import NIOCore
import Redis

/// Executes calls that concern one rider of a zone.
protocol CallExecutor: Sendable {
    /// - Parameter request: the same for a call and its repetitions.
    func answer(_ call: Call, in zone: ZoneID, request: String) async throws -> Reply
}

/// A result, and whether it survives the master that returned it because a replica confirmed it.
struct Reply: Sendable {
    var answer: Answer
    var isDurable = false
}

/// Each zone has its own jobs and shares none.
func rider(of zone: ZoneID) -> PersonID { PersonID("r-\(zone)")! }
let theJobs = (0..<3).map { JobID("job-\($0)")! }

func taskBits(_ jobs: some Sequence<JobID>) -> UInt8 {
    jobs.reduce(0) { bits, job in theJobs.firstIndex(of: job).map { bits | 1 << UInt8($0) } ?? bits }
}

/// The scripts.
struct ScriptClient: CallExecutor {
    let riders: Riders
    /// The observer for which every rider counts as silent after a millisecond.
    private let hasty: Riders

    init(_ client: RedisClient) {
        var settings = LiveStateSettings()
        settings.heartbeatTimeout = .seconds(3600)
        self.riders = Riders(ledger: client, settings: settings)
        (settings.heartbeatTimeout, settings.autoOfflineDelay) = (.milliseconds(1), .milliseconds(1))
        self.hasty = Riders(ledger: client, settings: settings)
    }

    /// Resets the history's rider to the initial state of every history.
    ///
    /// - Returns: the zone's version afterwards.
    func begin(in zone: ZoneID) async throws -> Int64 {
        let answer = try await self.riders.describe(
            rider(of: zone), in: zone, isApproved: true, capacity: RiderState.capacity, by: .init(rider(of: zone))
        ).get()
        guard case .created(let version) = answer.value else { throw UnexplainedResult(text: "\(answer.value)") }
        return version
    }

    func answer(_ call: Call, in zone: ZoneID, request: String) async throws -> Reply {
        let requester = Riders.Requester(rider(of: zone), request: request)
        switch call {
        case .approve(let isApproved):
            return try await self.riders.describe(
                rider(of: zone), in: zone, isApproved: isApproved, capacity: RiderState.capacity, by: requester
            ).get().understood
        case .setOnline:
            return try await self.riders.setOnline(rider(of: zone), in: zone, by: requester).get().understood
        case .setOffline:
            return try await self.riders.setOffline(rider(of: zone), in: zone, by: requester).get().understood
        case .assign(let job):
            return try await self.riders.assign(theJobs[job], to: rider(of: zone), in: zone, by: requester).get()
                .understood
        case .release(let job):
            return try await self.riders.release(
                theJobs[job], of: rider(of: zone), in: zone, because: .completed, by: requester
            ).get().understood
        case .heartbeat, .expire, .read: return Reply(answer: try await self.answerWithoutRequest(call, in: zone))
        }
    }

    private func answerWithoutRequest(_ call: Call, in zone: ZoneID) async throws -> Answer {
        switch call {
        case .heartbeat:
            switch try await self.riders.heartbeat(of: rider(of: zone), in: zone).get() {
            case .recorded(_, let isChanged): return isChanged ? .done : .unchanged
            case .offline: return .offline
            case .noSuchRider: throw UnexplainedResult(text: "no such rider")
            case .otherDevice: throw UnexplainedResult(text: "another device")
            }
        case .expire:
            switch try await self.hasty.expire(rider(of: zone), in: zone).get() {
            case .unchanged: return .nothing
            case .unreachable, .offline: return .done
            case .unreachableWithTasks(let jobs, _): return .tasks(taskBits(jobs))
            }
        default:
            guard let record = try await self.riders.read(rider(of: zone), in: zone).get() else {
                throw UnexplainedResult(text: "no such rider")
            }
            return .state(
                RiderState(
                    isOnline: record.status == .online, isReachable: record.isReachable,
                    isApproved: record.isApproved, tasks: taskBits(record.tasks.keys)))
        }
    }
}

// MARK: Converting the results of LiveState into those of the model

/// A result of the typed calls.
private protocol ModelConvertible {
    var answer: Answer? { get }
}

extension Durable where Value: ModelConvertible {
    fileprivate var understood: Reply {
        get throws {
            guard let answer = self.value.answer else { throw UnexplainedResult(text: "\(self.value)") }
            return Reply(answer: answer, isDurable: (self.replicas ?? 0) > 0)
        }
    }
}

extension Riders.Description: ModelConvertible {
    fileprivate var answer: Answer? {
        switch self {
        case .changed: .done
        case .unchanged: .unchanged
        case .created, .activeTasks, .otherRequest: nil
        }
    }
}

extension Riders.Online: ModelConvertible {
    fileprivate var answer: Answer? {
        switch self {
        case .online: .done
        case .unchanged: .unchanged
        case .notApproved: .notApproved
        case .noSuchRider, .otherRequest: nil
        }
    }
}

extension Riders.Offline: ModelConvertible {
    fileprivate var answer: Answer? {
        switch self {
        case .offline: .done
        case .unchanged: .unchanged
        case .activeTasks(let jobs): .tasks(taskBits(jobs))
        case .noSuchRider, .otherRequest: nil
        }
    }
}

extension Riders.Assignment: ModelConvertible {
    fileprivate var answer: Answer? {
        switch self {
        case .assigned: .done
        case .unchanged: .unchanged
        case .offline: .offline
        case .notApproved: .notApproved
        case .unreachable: .unreachable
        case .full(let jobs): .tasks(taskBits(jobs))
        case .noSuchRider, .taken, .otherRequest: nil
        }
    }
}

extension Riders.Release: ModelConvertible {
    fileprivate var answer: Answer? {
        switch self {
        case .released: .done
        case .unchanged: .unchanged
        case .noSuchRider, .otherRequest: nil
        }
    }
}

/// A result that no order of the calls can explain.
struct UnexplainedResult: Error, CustomStringConvertible {
    let text: String
    var description: String { self.text }
}

/// The negative control: read, decide and write as separate commands.
struct SeparateCommands: CallExecutor {
    let client: RedisClient

    func answer(_ call: Call, in zone: ZoneID, request: String) async throws -> Reply {
        let key = "control:{\(zone)}"
        let fields =
            try await self.client.send(["HMGET", .text(key), "online", "reachable", "withdrawn", "tasks"])
            .get().array?.map { UInt8($0.text ?? "") ?? 0 } ?? []
        let state = RiderState(
            isOnline: fields[0] == 1, isReachable: fields[1] == 1, isApproved: fields[2] == 0, tasks: fields[3])
        guard let (answer, after) = state.outcomes(of: call).last else { throw UnexplainedResult(text: "no outcome") }
        // Writes only what changes, as a naive implementation would.
        var change: RedisCommand = ["HSET", .text(key)]
        if after.isOnline != state.isOnline { change.words += ["online", .integer(after.isOnline ? 1 : 0)] }
        if after.isReachable != state.isReachable {
            change.words += ["reachable", .integer(after.isReachable ? 1 : 0)]
        }
        if after.isApproved != state.isApproved { change.words += ["withdrawn", .integer(after.isApproved ? 0 : 1)] }
        if after.tasks != state.tasks { change.words += ["tasks", .integer(Int(after.tasks))] }
        if change.words.count > 2 { _ = try await self.client.send(change).get() }
        return Reply(answer: answer)
    }
}
