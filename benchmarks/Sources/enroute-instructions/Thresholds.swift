// instructions.json: what a location and a delivered message may cost. Written when a change has been looked at and is
// meant; compared on every `make bench-gate`.

import Foundation

/// Counts by name.
struct Thresholds {
    let path: String
    /// By so much a count may be over its threshold.
    static let tolerance = 0.05

    func read() throws -> [String: Double] {
        guard let data = FileManager.default.contents(atPath: self.path) else {
            throw BenchFailure("\(self.path) can not be read. `enroute-instructions --write` writes it.")
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
            throw BenchFailure("\(self.path) can not be written: \(error)")
        }
    }

    /// One line for each figure, and whether all are within their thresholds.
    func compare(_ figures: [String: Double]) throws -> (lines: [String], isGood: Bool) {
        let thresholds = try self.read()
        var (lines, isGood): ([String], Bool) = ([], true)
        for (name, count) in figures.sorted(by: { $0.key < $1.key }) {
            guard let threshold = thresholds[name], threshold > 0 else {
                throw BenchFailure("\(self.path) has no \(name). `enroute-instructions --write` writes it.")
            }
            let change = count / threshold - 1
            var verdict = "ok"
            if change > Self.tolerance {
                verdict = "FAILED: more than \(Int(Self.tolerance * 100)) % over"
                isGood = false
            } else if change < -Self.tolerance {
                verdict = "better: make it the new threshold with --write"
            }
            lines.append(
                "\(name): \(count.grouped), threshold \(threshold.grouped) (\(change.percent))  \(verdict)")
        }
        return (lines, isGood)
    }
}

extension Double {
    /// Rounded, thousands apart.
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
