// A measured figure, and how several measurements of it are summarised.

/// A figure with the name that it has in instructions.json.
struct Figure {
    let name: String
    let value: Double
    /// Where the instructions were spent.
    var profile: Profile?
    /// Other details, as lines.
    var detail: [String] = []

    init(_ name: String, _ profile: Profile) {
        (self.name, self.value, self.profile) = (name, profile.total, profile)
    }

    init(_ name: String, _ value: Double, _ detail: [String] = []) {
        (self.name, self.value, self.detail) = (name, value, detail)
    }
}

/// Values by name.
typealias Values = [String: Double]

enum Summary {
    static func medians(_ runs: [Values]) -> Values {
        runs.reduce(into: [String: [Double]]()) { all, values in
            for (name, value) in values { all[name, default: []].append(value) }
        }.mapValues { $0.sorted()[$0.count / 2] }
    }

    /// A line for each value: the difference between its minimum and maximum, relative to the minimum.
    static func spread(_ runs: [Values]) -> [String] {
        (runs.first?.keys.sorted() ?? []).map { name in
            let values = runs.compactMap { $0[name] }
            let spread = (values.max() ?? 0) / (values.min() ?? 1) - 1
            return "spread \(spread.percent.rightAligned(8))  \(name): \(values.map(\.figure).joined(separator: " | "))"
        }
    }
}

extension Double {
    /// Rounded, with a thousands separator.
    var grouped: String {
        var digits = Array(String(Int(self.rounded().magnitude)))
        for place in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: place) }
        return (self < -0.5 ? "-" : "") + String(digits)
    }

    /// With two decimals.
    var hundredths: String {
        let hundredths = Int((self * 100).rounded())
        let decimals = String(hundredths.magnitude % 100)
        return "\(hundredths < 0 ? "-" : "")\(hundredths.magnitude / 100).\(decimals.count == 1 ? "0" : "")\(decimals)"
    }

    /// Instructions as whole numbers, commands and microseconds with decimals.
    var figure: String { self < 1000 ? self.hundredths : self.grouped }

    /// A ratio as a change in percent.
    var percent: String {
        let tenths = Int((self * 1000).rounded())
        return "\(tenths < 0 ? "-" : "+")\(abs(tenths) / 10).\(abs(tenths) % 10) %"
    }
}

extension String {
    func rightAligned(_ width: Int) -> String { String(repeating: " ", count: max(0, width - self.count)) + self }
    func leftAligned(_ width: Int) -> String { self + String(repeating: " ", count: max(0, width - self.count)) }
}
