// The instruction counter: reset before a measurement, read after it. A reading contains everything that callgrind counted
// meanwhile, by function.

import Foundation
import Synchronization

/// Controls one running callgrind.
final class Callgrind: Sendable {
    private let processID: Int32
    private let folder: String
    private let dumps = Atomic<Int>(0)

    init(processID: Int32, folder: String) {
        self.processID = processID
        self.folder = folder
    }

    /// Counts while `body` runs.
    ///
    /// - Returns: the counts, and for how long.
    func count(_ body: () async throws -> Void) async throws -> (profile: Profile, seconds: Double) {
        let start = ContinuousClock.now
        try await Blocking.run { try self.control("--zero") }
        try await body()
        let end = ContinuousClock.now
        let profile = try await Blocking.run { try self.read() }
        // Both commands need the same time before they have an effect.
        return (profile, (end - start) / .seconds(1))
    }

    /// The cost of one repetition, without timers: a longer series minus a shorter one, divided by the difference in length.
    /// Both are counted for the same time, so that both contain the same timers.
    ///
    /// - Parameters:
    ///   - warmUp: the length of the shorter series, and of one before that is not counted.
    ///   - count: the difference in length.
    ///   - perform: performs that many repetitions.
    ///   - betweenSeries: runs after each series, and is not counted.
    func cost(
        of count: Int, warmUp: Int, _ perform: (Int) async throws -> Void,
        betweenSeries: () async throws -> Void = {}
    ) async throws -> Profile {
        let clock = ContinuousClock()
        func finish() async throws {
            try await betweenSeries()
            try await clock.sleep(for: Self.aftermath)
        }
        try await perform(warmUp)
        try await finish()
        let long = try await self.count {
            try await perform(warmUp + count)
            try await clock.sleep(for: Self.aftermath)
        }
        try await finish()
        let end = clock.now + .seconds(long.seconds)
        let short = try await self.count {
            try await perform(warmUp)
            try await clock.sleep(until: end)
        }
        try await finish()
        return (long.profile - short.profile) * (1 / Double(count))
    }

    /// How long the gateway may still work on a repetition after the client has seen its end.
    private static let aftermath = Duration.milliseconds(300)

    /// The counts since the last command.
    private func read() throws -> Profile {
        try self.control("--dump")
        let number = self.dumps.wrappingAdd(1, ordering: .relaxed).newValue
        let path = "\(self.folder)/callgrind.out.\(number)"
        // The command returns when the file exists; its last line is written last.
        for _ in 0..<100 {
            if let text = try? String(contentsOfFile: path, encoding: .utf8), text.contains("\ntotals:") {
                return try Profile(callgrind: text)
            }
            Thread.sleep(forTimeInterval: 0.1)
        }
        throw BenchFailure("callgrind wrote no \(path) within 10 s.")
    }

    private func control(_ command: String) throws {
        let answer = try Program.run(
            ["callgrind_control", command, "\(self.processID)"], in: self.folder, seconds: 30)
        guard answer.contains("OK") else { throw BenchFailure("callgrind_control \(command): \(answer)") }
    }
}

/// A function, named if callgrind could.
struct Function: Hashable {
    /// Last component of the path of a program or library.
    let object: String
    /// The linker's name, or an address. A suffix `'2` marks a recursive call.
    let name: String
}

/// Instructions by function. Profiles can be subtracted and scaled, so that the arithmetic that yields a figure also yields its
/// breakdown.
struct Profile {
    /// Instructions in the function itself.
    private(set) var own: [Function: Double] = [:]
    /// Including the functions it called.
    private(set) var inclusive: [Function: Double] = [:]

    var total: Double { self.own.values.reduce(0, +) }

    static func - (one: Profile, other: Profile) -> Profile {
        var difference = one
        for (function, count) in other.own { difference.own[function, default: 0] -= count }
        for (function, count) in other.inclusive { difference.inclusive[function, default: 0] -= count }
        return difference
    }

    static func * (profile: Profile, factor: Double) -> Profile {
        var product = profile
        product.own = product.own.mapValues { $0 * factor }
        product.inclusive = product.inclusive.mapValues { $0 * factor }
        return product
    }
}

extension Profile {
    /// Parses callgrind's format (valgrind's manual, "Callgrind Format Specification"), as far as callgrind uses it with one
    /// event and positions in lines.
    init(callgrind text: String) throws {
        var names = Names()
        var (object, calledObject): (String, String?) = ("", nil)
        var (function, called): (Function?, Function?) = (nil, nil)
        var isCall = false
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            guard let first = line.first else { continue }
            if first == UInt8(ascii: "+") || first == UInt8(ascii: "-") || first == UInt8(ascii: "*") || first.isDigit {
                let last = line.split(separator: UInt8(ascii: " ")).last
                guard let function, let count = last.flatMap(Double.init(bytes:)) else {
                    throw BenchFailure("a line of callgrind's output cannot be parsed: \(String(line) ?? "")")
                }
                if isCall, let called, called != function {
                    self.inclusive[function, default: 0] += count
                } else if !isCall {
                    self.own[function, default: 0] += count
                    self.inclusive[function, default: 0] += count
                }
                isCall = false
                continue
            }
            guard let equals = line.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let value = String(decoding: line[line.index(after: equals)...], as: UTF8.self)
            switch String(decoding: line[..<equals], as: UTF8.self) {
            case "ob": object = names.object(value)
            case "fn": (function, calledObject) = (Function(object: object, name: names.function(value)), nil)
            case "cob": calledObject = names.object(value)
            case "cfn":
                called = Function(object: calledObject ?? object, name: names.function(value))
                calledObject = nil
            case "calls": isCall = true
            default: break
            }
        }
    }
}

/// Each name occurs in a file once; later `(number)` refers to it.
private struct Names {
    private var objects: [Substring: String] = [:]
    private var functions: [Substring: String] = [:]

    mutating func object(_ text: String) -> String {
        let path = Self.resolve(text, in: &self.objects)
        return path.split(separator: "/").last.map(String.init) ?? path
    }

    mutating func function(_ text: String) -> String { Self.resolve(text, in: &self.functions) }

    private static func resolve(_ text: String, in known: inout [Substring: String]) -> String {
        guard text.hasPrefix("("), let end = text.firstIndex(of: ")") else { return text }
        let number = text[...end]
        let name = text[text.index(after: end)...].drop { $0 == " " }
        if !name.isEmpty { known[number] = String(name) }
        return known[number] ?? text
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}

extension Double {
    fileprivate init?(bytes: Substring.UTF8View.SubSequence) { self.init(String(decoding: bytes, as: UTF8.self)) }
}
