// Causes the faults of the stage's buttons, and measures how long followers and the customer notice them.

import EnrouteClient
import EnrouteWire
import Foundation
import HTTPValues
import Journeys

extension DemoFaults {
    private static let longest = Duration.seconds(30)
    private static let tunnel = Duration.seconds(20)
    private static let denial = Duration.seconds(40)
    /// Fixes arrive once a second.
    private static let jump = Duration.seconds(3)
    private static let intake = Duration.seconds(4)
    /// Readings of the second phone.
    private static let readings = 5

    /// Causes a fault, and returns what was measured.
    func perform(_ fault: DemoFault) async throws -> String {
        switch fault {
        case .gateway: try await self.killGateway()
        case .redis: try await self.restartRedis()
        case .tunnel: try await self.driveIntoTunnel()
        case .jump: try await self.jump()
        case .phone: try await self.useSecondPhone()
        case .permission: try await self.denyLocation()
        }
    }

    private static func seconds(_ duration: Duration?) -> String {
        guard let duration else { return "more than \(Int(self.longest / .seconds(1))) s" }
        return String(format: "%.1f s", duration / .seconds(1))
    }

    private func killGateway() async throws -> String {
        let before = self.follower.measured
        // The follower and the customer's page prefer the first gateway, and use the other one after it was killed.
        let at = self.gateways.indices.min { self.gateways[$0].ends < self.gateways[$1].ends } ?? 0
        let start = ContinuousClock.now
        self.gateways[at].end()
        let lost = try await self.follower.time(until: .seconds(2)) { $0.disconnects > before.disconnects }
        let back = try await self.follower.time(until: Self.longest) { now in
            now.isConnected && (now.locationAt.map { $0 > start } ?? false)
        }
        let total = ContinuousClock.now - start
        let name = Self.name(at)
        guard lost != nil else {
            return "Gateway \(name) was killed. Followers were on the other one and noticed nothing."
        }
        return "Gateway \(name) was killed. Followers received locations again after "
            + "\(Self.seconds(back == nil ? nil : total))."
    }

    /// The name of a gateway on the stage.
    static func name(_ index: Int) -> String { index == 0 ? "A" : "B" }

    private func restartRedis() async throws -> String {
        let before = self.follower.measured
        let (start, startedAt) = (ContinuousClock.now, WallClock.nowMilliseconds)
        for process in self.redis { process.end() }
        let back = try await self.follower.time(until: Self.longest) { now in
            now.fixAt > startedAt && (now.locationAt.map { $0 > start } ?? false)
        }
        let lost = self.follower.measured.disconnects - before.disconnects
        return "Both were killed and started again. Locations arrived after \(Self.seconds(back)); "
            + (lost == 0 ? "no follower was disconnected." : "followers were disconnected \(lost) times.")
    }

    private func driveIntoTunnel() async throws -> String {
        self.riderDoor.cut()
        try await Task.sleep(for: Self.tunnel)
        let restoredAt = ContinuousClock.now
        self.riderDoor.restore()
        let back = try await self.follower.time(until: Self.longest) { $0.yoursAt.map { $0 > restoredAt } ?? false }
        return "The connection was cut for \(Int(Self.tunnel / .seconds(1))) s. "
            + "The customer saw the rider again \(Self.seconds(back)) after its return."
    }

    private func jump() async throws -> String {
        let before = self.follower.measured
        self.controls.receiver = .jumps
        try await Task.sleep(for: Self.jump)
        self.controls.receiver = .works
        let restoredAt = WallClock.nowMilliseconds
        let back = try await self.follower.time(until: Self.longest) { $0.yoursFixAt > restoredAt }
        let strange = self.follower.measured.strange - before.strange
        return
            "GPS was 3 km off for \(Int(Self.jump / .seconds(1))) s. \(strange == 0 ? "None" : "\(strange)") of these "
            + "readings reached the customer; the next good one did after \(Self.seconds(back))."
    }

    /// Another session of the rider reports from another place, without having switched travel mode on.
    private func useSecondPhone() async throws -> String {
        guard let job = self.controls.order?.job else { return "There is no order at the moment." }
        let before = self.follower.measured
        let token = try await self.orders.token(of: DemoStory.rider)
        let refused = try await GatewayConnection.open(self.socket, token: token, trust: self.trust) { connection in
            try await withThrowingTaskGroup(of: [ErrorCode]?.self) { group in
                defer { group.cancelAll() }
                group.addTask { try await Self.refusals(of: Self.readings, in: connection.messages) }
                group.addTask {
                    try await Task.sleep(for: Self.longest)
                    return nil
                }
                let reading = self.controls.phone.reading(at: 0)
                for number in 0..<Self.readings {
                    let place = Coordinate(
                        latitude: reading.latitude + DemoPhone.jump, longitude: reading.longitude)
                    guard let place else { break }
                    let fix = EnrouteWire.Fix(at: WallClock.nowMilliseconds, place: place, accuracyMeters: 5)
                    try await connection.send(
                        .location(LocationReport(job: job, sequence: Int64(number), fixes: [fix])))
                    try await Task.sleep(for: Self.intake / Self.readings)
                }
                return try await group.next() ?? nil
            }
        }
        let strange = self.follower.measured.strange - before.strange
        let saw = strange == 0 ? "The customer saw none of them." : "The customer saw \(strange) of them."
        guard let refused else { return "The second phone got no answer to its readings. \(saw)" }
        return
            "The second phone sent \(Self.readings) readings from 3 km away. \(Self.refusedText(refused.count)). \(saw)"
    }

    private static func refusedText(_ count: Int) -> String {
        guard count > 0 else { return "None was refused" }
        let refused = count == self.readings ? "All were" : count == 1 ? "1 was" : "\(count) were"
        return "\(refused) refused, because the first phone reports"
    }

    /// The codes of the refusals among this many answers to location reports.
    private static func refusals(
        of count: Int, in messages: GatewayConnection.Messages
    ) async throws -> [ErrorCode] {
        var (codes, answers): ([ErrorCode], Int) = ([], 0)
        for try await message in messages {
            switch message {
            case .ok("location", _, _, _, _): answers += 1
            case .error(let refusal) where refusal.replyTo == "location":
                answers += 1
                codes.append(refusal.code)
            default: continue
            }
            if answers == count { break }
        }
        return codes
    }

    private func denyLocation() async throws -> String {
        self.controls.receiver = .denied
        let told = try await self.follower.time(until: Self.denial) { $0.unavailable == .permissionDenied }
        try await Task.sleep(for: max(.zero, Self.denial - (told ?? Self.denial)))
        let allowedAt = ContinuousClock.now
        self.controls.receiver = .works
        let back = try await self.follower.time(until: Self.longest) { $0.yoursAt.map { $0 > allowedAt } ?? false }
        return "Followers knew why after \(Self.seconds(told)); they saw the rider again \(Self.seconds(back)) after "
            + "the location was allowed."
    }
}
