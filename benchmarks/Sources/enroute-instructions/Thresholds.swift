// instructions.json: the permitted cost of a location and of a delivered message. Updated when a change has been reviewed and
// is intended; compared by every `make bench-gate`.

import Foundation

/// Counts by name.
struct Thresholds {
    let path: String
    /// How much a count may exceed its threshold.
    static let tolerance = 0.05

    func read() throws -> [String: Double] {
        guard let data = FileManager.default.contents(atPath: self.path) else {
            throw BenchFailure("\(self.path) cannot be read. Create it with `enroute-instructions --write`.")
        }
        do { return try JSONDecoder().decode([String: Double].self, from: data) } catch {
            throw BenchFailure("\(self.path) must be an object of names and counts: \(error)")
        }
    }

    func write(_ figures: [String: Double]) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        let text = try encoder.encode(figures.mapValues { Int($0.rounded()) }) + Data("\n".utf8)
        do { try text.write(to: URL(fileURLWithPath: self.path)) } catch {
            throw BenchFailure("\(self.path) cannot be written: \(error)")
        }
    }

    /// One line per figure, and whether all are within their thresholds.
    func compare(_ figures: [String: Double]) throws -> (lines: [String], isGood: Bool) {
        let thresholds = try self.read()
        var (lines, isGood): ([String], Bool) = ([], true)
        for (name, count) in figures.sorted(by: { $0.key < $1.key }) {
            guard let threshold = thresholds[name], threshold > 0 else {
                throw BenchFailure("\(self.path) has no \(name). Create it with `enroute-instructions --write`.")
            }
            let change = count / threshold - 1
            var verdict = "ok"
            if change > Self.tolerance {
                verdict = "FAILED: more than \(Int(Self.tolerance * 100)) % over"
                isGood = false
            } else if change < -Self.tolerance {
                verdict = "better: store it as the new threshold with --write"
            }
            lines.append(
                "\(name): \(count.grouped), threshold \(threshold.grouped) (\(change.percent))  \(verdict)")
        }
        return (lines, isGood)
    }
}

extension Double {
    /// Rounded, with a thousands separator.
    var grouped: String {
        var digits = Array(String(Int(self.rounded().magnitude)))
        for place in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: place) }
        return (self < -0.5 ? "-" : "") + String(digits)
    }

    /// A ratio as a change in percent.
    var percent: String {
        let tenths = Int((self * 1000).rounded())
        return "\(tenths < 0 ? "-" : "+")\(abs(tenths) / 10).\(abs(tenths) % 10) %"
    }
}
