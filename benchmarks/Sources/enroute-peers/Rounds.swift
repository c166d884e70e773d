// The same load for every contestant, one round at a time, so that disturbances of the machine affect all alike.

import Foundation
import LoadEngine

/// The kinds of load.
enum Work: String, CaseIterable {
    /// A follower for each job, messages evenly spread: each one wakes the server.
    case oneToOne = "one-to-one"
    /// The same in bursts: the cost of a message while the server is awake.
    case bursts
    /// One job that all follow.
    case fanOut = "fan-out"
    /// The path of a location, end to end: one location in, the last position stored in Redis, one follower out.
    case wholeRoad = "whole-road"

    static let burst = 100
    /// Reports of a rider a second, at most; a gateway conflates more than two.
    static let reportsPerRider = 1.0

    /// Connections for a number of followers.
    func connections(_ followers: Int) -> Int { self == .wholeRoad ? 2 * followers : followers }
}

/// The work of each contestant in a round.
struct Program {
    var rounds = 5
    var connections = [1000, 5000]
    var works = Work.allCases
    /// Delivered messages per second.
    var rate = 5000.0
    var warmup = 2.0
    var seconds = 10.0
    var payload = 200
    var handshakeSeconds = 5.0
}

/// One run of one contestant.
struct Record: Codable {
    var round: Int
    var contestant: String
    /// `one-to-one/1000`, `bursts/1000`, `fan-out/1000`, `handshakes/full`, `handshakes/resumed`.
    var work: String
    var report: Report?
    /// Why there is no report.
    var failure: String?
}

struct Rounds {
    let program: Program
    let arena: Arena
    let contestants: [Contestant]
    let say: (String) -> Void

    func run() -> [Record] {
        var records: [Record] = []
        for round in 1...self.program.rounds {
            // The order rotates, so that no contestant always follows the same one.
            let turn = (round - 1) % self.contestants.count
            for contestant in self.contestants[turn...] + self.contestants[..<turn] {
                records += self.run(contestant, round)
            }
        }
        return records
    }

    private func run(_ contestant: Contestant, _ round: Int) -> [Record] {
        var records: [Record] = []
        for (place, connections) in self.program.connections.enumerated() {
            let entrant: Entrant
            do {
                entrant = try self.arena.start(contestant)
            } catch {
                records.append(self.record(round, contestant, "start/\(connections)", .failure(error)))
                continue
            }
            defer { entrant.child?.stop() }
            let watched = Watched(
                server: entrant.server, redis: try? ProcessGroup("redis", [self.arena.redis.pid]))
            for (turn, work) in self.program.works.enumerated() {
                let result = Result {
                    var report = try self.deliver(work, connections, entrant, watched)
                    // Only the first run of a new process shows the memory per connection.
                    if turn > 0 { report.memory = nil }
                    return report
                }
                records.append(self.record(round, contestant, "\(work.rawValue)/\(connections)", result))
            }
            guard place == 0, entrant.peer.dial.tls != nil else { continue }
            for resumes in [false, true] {
                let result = Result { try self.shakeHands(entrant, resumes, watched) }
                records.append(
                    self.record(round, contestant, resumes ? "handshakes/resumed" : "handshakes/full", result))
            }
        }
        return records
    }

    private func deliver(_ work: Work, _ connections: Int, _ entrant: Entrant, _ watched: Watched) throws -> Report {
        if work == .wholeRoad {
            let delivery = Delivery(
                mode: work.rawValue, perSecond: min(self.program.rate, Double(connections) * Work.reportsPerRider),
                channels: connections, warmup: self.program.warmup, seconds: self.program.seconds)
            return try entrant.peer.deliverFromRiders(
                delivery, payload: self.program.payload, watched: watched, loop: self.arena.loop)
        }
        let isFanOut = work == .fanOut
        let delivery = Delivery(
            mode: work.rawValue, perSecond: isFanOut ? self.program.rate / Double(connections) : self.program.rate,
            channels: isFanOut ? 1 : connections, burst: work == .bursts ? Work.burst : 1,
            warmup: self.program.warmup, seconds: self.program.seconds)
        return try entrant.peer.deliver(
            delivery, followers: connections, payload: self.program.payload, watched: watched, loop: self.arena.loop)
    }

    private func shakeHands(_ entrant: Entrant, _ resumes: Bool, _ watched: Watched) throws -> Report {
        try Handshakes(
            entrant.peer.dial.endpoint, resumes: resumes, width: 16, warmup: 1, seconds: self.program.handshakeSeconds
        ).run(name: entrant.peer.name, watched: watched, loop: self.arena.loop)
    }

    private func record(
        _ round: Int, _ contestant: Contestant, _ work: String, _ result: Result<Report, any Error>
    ) -> Record {
        switch result {
        case .success(var report):
            report.target = contestant.name
            self.say("round \(round): \(report)\n")
            return Record(round: round, contestant: contestant.name, work: work, report: report)
        case .failure(let error):
            self.say("round \(round): \(contestant.name), \(work): NO FIGURES: \(error)\n")
            return Record(round: round, contestant: contestant.name, work: work, failure: "\(error)")
        }
    }
}
