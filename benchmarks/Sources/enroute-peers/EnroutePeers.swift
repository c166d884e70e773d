// enroute-peers: the same load for Enroute and its alternatives, side by side.

import ArgumentParser
import Foundation
import Glibc
import LoadEngine

@main
struct EnroutePeers: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enroute-peers",
        abstract: "Measures Enroute and its peers side by side, in interleaved rounds.",
        discussion: """
            Starts redis-server and, one after the other, each server that is installed: Enroute, its twin on NIOSSL, and the \
            scripts of --peers. The server has core 0 to itself; Redis and the generator have the others. Writes latest.json \
            and latest.md (or --name) into --results. Every process it starts ends with it.

            Examples:
              enroute-peers --enroute ../.build/release/enroute --twin ../.build/release/enroute-niossl-twin
              enroute-peers --enroute ../.build/release/enroute --only enroute,twin --rounds 3
              enroute-peers --enroute ../.build/release/enroute --quick
            """)

    @Option(help: ArgumentHelp("Enroute's binary.", valueName: "file"))
    var enroute: String?
    @Option(
        help: ArgumentHelp(
            "Another binary with the command line of enroute serve: Enroute on NIOSSL.", valueName: "file"))
    var twin: String?
    @Option(help: ArgumentHelp("The folder of the peers' scripts.", valueName: "folder"))
    var peers = "peers"
    @Option(
        help: ArgumentHelp("A running peer: its description as JSON, with url and pids.", valueName: "file"))
    var peer: [String] = []
    @Option(help: ArgumentHelp("Only these, comma-separated: enroute, twin, names of peers.", valueName: "names"))
    var only: String?
    @Option(help: "Number of rounds.")
    var rounds = 5
    @Option(help: ArgumentHelp("Numbers of connections, comma-separated.", valueName: "counts"))
    var connections = "1000,5000"
    @Option(
        help: ArgumentHelp(
            "A comma-separated selection of one-to-one, bursts, fan-out and whole-road.", valueName: "names"))
    var works = "one-to-one,bursts,fan-out,whole-road"
    @Option(help: "Delivered messages per second.")
    var rate = 5000.0
    @Option(help: "Duration of each measurement in seconds.")
    var seconds = 10.0
    @Option(help: "Size of a message in bytes.")
    var payload = 200
    @Flag(help: "One round of Enroute only, with 1000 connections and 5 s.")
    var quick = false
    @Option(help: ArgumentHelp("The folder for the results.", valueName: "folder"))
    var results = "results"
    @Option(help: ArgumentHelp("The name of the results: name.json and name.md.", valueName: "name"))
    var name = "latest"

    func validate() throws {
        guard self.rounds > 0, self.rate > 0, self.seconds > 0 else {
            throw ValidationError("--rounds, --rate and --seconds must be more than 0.")
        }
        guard !self.workList.isEmpty, self.workList.count == self.works.split(separator: ",").count else {
            throw ValidationError(
                "--works must be a comma-separated selection of one-to-one, bursts, fan-out and whole-road.")
        }
        let counts = self.connections.split(separator: ",").map { Int($0) ?? 0 }
        guard !counts.isEmpty, counts.allSatisfy({ (1...100_000).contains($0) }) else {
            throw ValidationError("--connections must be comma-separated numbers from 1 to 100000.")
        }
    }

    private var workList: [Work] { self.works.split(separator: ",").compactMap { Work(rawValue: String($0)) } }

    private var program: Program {
        var program = Program()
        (program.rounds, program.rate, program.seconds, program.payload) = (
            self.rounds, self.rate, self.seconds, self.payload
        )
        program.connections = self.connections.split(separator: ",").compactMap { Int($0) }
        program.works = self.workList
        if self.quick {
            (program.rounds, program.connections, program.seconds, program.handshakeSeconds) = (1, [1000], 5, 3)
        }
        return program
    }

    func run() throws {
        let program = self.program
        let (contestants, leftOut) = try self.contestants()
        guard !contestants.isEmpty else { throw LoadError("no contestants: specify --enroute, or install a peer") }
        try Descriptors.raise(
            toHold: program.works.flatMap { work in program.connections.map { work.connections($0) } }.max() ?? 0)
        let cores = Cores()
        try Self.stay(on: cores.generator)
        let arena = try Arena(cores: cores)
        defer { arena.close() }
        print("\(contestants.map(\.name).joined(separator: ", ")): \(program.rounds) rounds")
        for (name, reason) in leftOut.sorted(by: { $0.key < $1.key }) { print("\(name) is skipped: \(reason)") }
        let records = Rounds(program: program, arena: arena, contestants: contestants) {
            print($0)
            fflush(nil)
        }.run()
        let summary = Summary(records, contestants, leftOut: leftOut, program)
        try summary.write(to: self.results, name: self.name)
        print(summary.markdown)
        print("written to \(self.results)/\(self.name).json and .md")
        guard summary.failures.isEmpty else { throw ExitCode(1) }
    }

    private func contestants() throws -> ([Contestant], leftOut: [String: String]) {
        var contestants: [Contestant] = []
        var leftOut: [String: String] = [:]
        for (name, path) in [("enroute", self.enroute), ("twin", self.twin)] {
            guard let path else { continue }
            guard FileManager.default.isExecutableFile(atPath: path) else {
                throw LoadError("\(path) is not a program")
            }
            contestants.append(Contestant(name: name, kind: .enroute(path: path)))
        }
        if !self.quick {
            let scripts = Contestant.scripts(in: URL(fileURLWithPath: self.peers).path)
            contestants += scripts.contestants
            leftOut = scripts.leftOut
            contestants += try self.peer.map { try Contestant.running($0) }
        }
        guard let only = self.only.map({ Set($0.split(separator: ",").map(String.init)) }) else {
            return (contestants, leftOut)
        }
        let unknown = only.subtracting(contestants.map(\.name)).subtracting(leftOut.keys)
        guard unknown.isEmpty else {
            throw LoadError("--only names \(unknown.sorted().joined(separator: ", ")), which are not available")
        }
        return (contestants.filter { only.contains($0.name) }, leftOut.filter { only.contains($0.key) })
    }

    private static func stay(on core: Int) throws {
        guard Child.run(["taskset", "-cp", String(core), String(getpid())]).succeeded else {
            throw LoadError("taskset cannot keep the generator on core \(core)")
        }
    }
}
