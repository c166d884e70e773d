// instructions.json: the permitted values of all figures. Updated when a change has been reviewed and is intended; compared by
// every `make bench-gate`.

import Foundation

/// Values by name, in a file.
struct Thresholds {
    let path: String
    /// How much a figure may exceed its threshold.
    static let tolerance = 0.03
    /// CPU time varies too much between runs to be compared.
    private static let informative = "redis_microseconds"

    func read() throws -> Values {
        guard let data = FileManager.default.contents(atPath: self.path) else {
            throw BenchFailure("\(self.path) cannot be read. Create it with `enroute-instructions --write`.")
        }
        do { return try JSONDecoder().decode(Values.self, from: data) } catch {
            throw BenchFailure("\(self.path) must be an object of names and numbers: \(error)")
        }
    }

    /// Replaces these values, and leaves the others.
    func update(_ values: Values) throws {
        let former = FileManager.default.fileExists(atPath: self.path) ? try self.read() : [:]
        let lines = former.merging(values) { $1 }.sorted { $0.key < $1.key }.map { name, value in
            "  \"\(name)\": \(value < 1000 ? value.hundredths : String(Int(value.rounded())))"
        }
        let text = "{\n" + lines.joined(separator: ",\n") + "\n}\n"
        do { try Data(text.utf8).write(to: URL(fileURLWithPath: self.path)) } catch {
            throw BenchFailure("\(self.path) cannot be written: \(error)")
        }
    }

    /// One line per value, and whether all are within their thresholds.
    func compare(_ values: Values) throws -> (lines: [String], isGood: Bool) {
        let thresholds = try self.read()
        var (lines, isGood): ([String], Bool) = ([], true)
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            guard let threshold = thresholds[name], threshold > 0 else {
                throw BenchFailure("\(self.path) has no \(name). Create it with `enroute-instructions --write`.")
            }
            let change = value / threshold - 1
            var verdict = "ok"
            if name.hasPrefix(Self.informative) {
                verdict = "not compared"
            } else if change > Self.tolerance {
                verdict = "FAILED: more than \(Int(Self.tolerance * 100)) % over"
                isGood = false
            } else if change < -Self.tolerance {
                verdict = "better: store it as the new threshold with --write"
            }
            lines.append("\(name): \(value.figure), threshold \(threshold.figure) (\(change.percent))  \(verdict)")
        }
        return (lines, isGood)
    }
}
