// A sizing plan as text, for people.

extension SizingPlan {
    /// The plan as a table for people.
    var text: String {
        let rows = [
            (
                "load",
                "\(Self.grouped(self.connections)) connections, \(Self.grouped(self.locationsPerSecond)) locations and "
                    + "\(Self.grouped(self.deliveriesPerSecond)) deliveries a second"
            ),
            (
                "gateways",
                "\(self.cores(self.gatewayCores, "core")) (\(Self.twoDecimals(self.gatewayCoresBusy)) busy), as "
                    + "\(self.gateways) gateways of \(Self.coresPerGateway) cores, one of which may fail"
            ),
            ("memory", "\(Self.grouped(self.gatewayMemoryMB)) MB over all gateways"),
            (
                "Redis",
                "\(self.cores(self.redisMasters, "master")) (\(Self.twoDecimals(self.redisCoresBusy)) cores busy)"
            ),
            (
                "reconnect",
                "\(Self.twoDecimals(self.reconnectSeconds)) s of all cores for all clients, with full handshakes"
            ),
        ]
        let table = rows.map { name, value in name + String(repeating: " ", count: 11 - name.count) + value }
        return (table + ["", "Assumptions:"] + self.assumptions.map { "- \($0)" }).joined(separator: "\n")
    }

    private func cores(_ count: Int, _ noun: String) -> String {
        "\(Self.grouped(Double(count))) \(noun)\(count == 1 ? "" : "s")"
    }

    /// 12345.6 as 12,346.
    static func grouped(_ number: Double) -> String {
        let digits = Array(String(Int(number.rounded())))
        return digits.indices.reduce(into: "") { text, index in
            if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
            text.append(digits[index])
        }
    }

    private static func twoDecimals(_ number: Double) -> String {
        let hundredths = Int((number * 100).rounded())
        return "\(Self.grouped(Double(hundredths / 100))).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }
}
