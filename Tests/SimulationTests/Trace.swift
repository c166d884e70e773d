// A readable trace of a run, and its result.

/// Lines with their virtual time. Recorded only when a failed run is repeated.
final class Trace {
    private var lines: [(at: UInt64, job: Int?, text: String)] = []

    func add(_ at: UInt64, _ job: Int?, _ text: String) { self.lines.append((at, job, text)) }

    /// The last lines that concern one job, or all jobs.
    func about(_ job: Int?, last count: Int) -> String {
        let lines = self.lines.filter { $0.job == nil || job == nil || $0.job == job }
        return lines.suffix(count).map { line in
            let (seconds, micros) = (line.at / 1_000_000_000, line.at / 1_000 % 1_000_000)
            let fraction = String(repeating: "0", count: 6 - "\(micros)".count) + "\(micros)"
            return "\(seconds).\(fraction)  \(line.job.map { "job \($0)" } ?? "     ")  \(line.text)"
        }.joined(separator: "\n")
    }
}

struct Outcome: Sendable {
    let seed: UInt64
    /// The violation, and the job it concerns.
    let violation: (text: String, job: Int?)?
    let events: Int
    /// A digest of everything that happened and was shown, in order.
    let hash: UInt64
    let resets: Int
}

/// Number of trace lines in a failure message.
private let maxLines = 58

/// Runs a seed; a failing one is run again with a trace.
func failure(seed: UInt64, flaw: Flaw? = nil) -> String? {
    guard World(seed: seed, flaw: flaw).run().violation != nil else { return nil }
    return story(seed: seed, flaw: flaw)
}

func story(seed: UInt64, flaw: Flaw? = nil) -> String {
    let world = World(seed: seed, flaw: flaw, isTraced: true)
    let outcome = world.run()
    let text = outcome.violation?.text ?? "no violation"
    return "seed \(seed): \(text)\n\(world.plan)\n"
        + (world.log?.about(outcome.violation?.job, last: maxLines) ?? "")
}
