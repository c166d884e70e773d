// Measures several parts at the same time, each in a process of this program with its own gateway.

import Foundation

struct Parts {
    private let parts: [[any Scene]]
    private let options: EnrouteInstructions

    /// Time limit for one run of a part, in seconds.
    private static let longestRun = 300

    /// - Parameter options: for every process, except for the scenes.
    init(_ parts: [[any Scene]], like options: EnrouteInstructions) { (self.parts, self.options) = (parts, options) }

    func measure() throws -> Measured {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("enroute-parts-\(getpid())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let children = try self.parts.enumerated().map { try self.start($1, "\(folder)/\($0)") }
        defer { children.forEach { $0.end() } }
        var whole = Measured(runs: Array(repeating: [:], count: self.options.runs), breakdown: "")
        for (number, child) in children.enumerated() {
            do { _ = try child.output(seconds: Double(Self.longestRun * self.options.runs)) } catch {
                throw BenchFailure("\(self.parts[number][0].figures[0]): \(error)")
            }
            guard let data = FileManager.default.contents(atPath: "\(folder)/\(number).json") else {
                throw BenchFailure("\(folder)/\(number).json is missing.")
            }
            let part = try JSONDecoder().decode(Measured.self, from: data)
            for (run, values) in part.runs.enumerated() { whole.runs[run].merge(values) { $1 } }
            whole.breakdown += part.breakdown
        }
        return whole
    }

    private func start(_ part: [any Scene], _ path: String) throws -> KeptProgram {
        let options = self.options
        var words = [
            CommandLine.arguments[0], "--enroute", options.enroute, "--runs", "\(options.runs)", "--followers",
            "\(options.followers)", "--repetitions", "\(options.repetitions)", "--seconds", "\(options.seconds)",
            "--riders", "\(options.riders)", "--values", "\(path).json",
        ]
        if options.profile != nil { words += ["--profile", "\(path).profile"] }
        for scene in part { words += ["--only", scene.figures[0]] }
        return try Program.keep(words, log: "\(path).log", environment: [:])
    }
}
