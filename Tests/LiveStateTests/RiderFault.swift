import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

/// Malformed data that a script which changes a rider reads.
enum RiderFault: CaseIterable, Sendable {
    case noNumber, endless, noCapacity, noDevice, noTime, tasks, pool, changeLog, owners, due

    /// What both scripts of the declared status read. The time of the heartbeat is replaced or not used by them.
    static let changesOfStatus: [Self] = [
        .noNumber, .endless, .noCapacity, .noDevice, .tasks, .pool, .changeLog, .due,
    ]

    func plant(_ stage: ZoneStage) async throws {
        let record = stage.keys[0]
        switch self {
        case .noNumber: try await stage.client.run("HSET", record, "capacity", "many")
        case .endless: try await stage.client.run("HSET", record, "capacity", "inf")
        case .noCapacity: try await stage.client.run("HDEL", record, "capacity")
        case .noDevice: try await stage.client.run("HDEL", record, "device")
        case .noTime: try await stage.client.run("HSET", record, "heartbeat", "soon")
        case .tasks: try await Self.replace(stage.keys[1], stage)
        case .pool: try await Self.replace(stage.keys[2], stage)
        case .changeLog: try await Self.replace(stage.keys[3], stage)
        case .owners: try await Self.replace(stage.owners, stage)
        case .due: try await Self.replace(stage.due, stage)
        }
    }

    private static func replace(_ key: String, _ stage: ZoneStage) async throws {
        try await stage.client.run("DEL", key)
        try await stage.client.run("RPUSH", key, "a list")
    }
}

extension ZoneStage {
    /// Expects that a call fails because of malformed data, and writes nothing.
    func expectRefusal<Value: Sendable>(
        of fault: RiderFault, at sourceLocation: SourceLocation = #_sourceLocation,
        _ call: () -> EventLoopFuture<Value>
    ) async throws {
        try await fault.plant(self)
        try await self.base.leavesEverythingUnchanged("\(fault)", at: sourceLocation) {
            let error = await failure(of: call())
            #expect(
                error?.isMalformedData == true, "\(fault) \(String(describing: error))", sourceLocation: sourceLocation)
        }
    }
}
