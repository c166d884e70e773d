// The results as Markdown tables.

import LoadEngine

extension Summary {
    var markdown: String {
        var lines = [
            "# Figures of \(self.date.prefix(10))", "",
            "\(self.machine.model), \(self.machine.cores) cores, Linux \(self.machine.kernel); commit \(self.commit). "
                + "Medians of \(self.records.map(\.round).max() ?? 0) interleaved rounds (in brackets: minimum and maximum); "
                + "TLS 1.3, \(self.cipher), P-256 certificate; messages of \(self.payload) bytes, "
                + "\(decimals(self.rate, 0)) deliveries a second for \(decimals(self.seconds, 0)) s. "
                + "README.md explains each figure.", "",
        ]
        for work in self.works {
            lines += work.hasPrefix("handshakes") ? self.handshakes(work) : self.deliveries(work)
        }
        lines += self.notes
        return lines.joined(separator: "\n") + "\n"
    }

    /// The name of a contestant in the tables.
    private func label(_ name: String) -> String {
        // Not the JavaScript server, to which it does not apply: peers/README.md.
        name == "socketio" ? "Socket.IO (python-socketio)" : name
    }

    private func row(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }

    private func table(_ head: [String], _ rows: [[String]]) -> [String] {
        [self.row(head), self.row(head.indices.map { $0 == 0 ? "---" : "---:" })] + rows.map(self.row) + [""]
    }

    private func text(_ figure: Figure?, _ digits: Int, spread: Bool = false) -> String {
        guard let figure else { return "–" }
        let median = decimals(figure.median, digits)
        guard spread, figure.rounds > 1 else { return median }
        return "\(median) (\(decimals(figure.min, digits))–\(decimals(figure.max, digits)))"
    }

    /// The ratio to Enroute's.
    private func ratio(_ contestant: String, _ work: String, _ name: String) -> String {
        guard let own = self.figure("enroute", work, name)?.median, own > 0,
            let other = self.figure(contestant, work, name)?.median
        else { return "–" }
        return decimals(other / own, 2)
    }

    private func deliveries(_ work: String) -> [String] {
        let parts = work.split(separator: "/")
        let head = [
            String(parts[0]), "CPU µs per message", "user", "system", "× Enroute", "Redis µs", "p50 ms", "p99 ms",
            "p99.9 ms", "KB per connection", "opening µs", "missing", "busiest core",
        ]
        let rows = self.contestants.map { name -> [String] in
            func cell(_ figure: String, _ digits: Int, spread: Bool = false) -> String {
                self.text(self.figure(name, work, figure), digits, spread: spread)
            }
            return [
                self.label(name), cell("cpu_us", 1, spread: true), cell("user_us", 1), cell("system_us", 1),
                self.ratio(name, work, "cpu_us"), cell("redis_cpu_us", 1), cell("p50_ms", 2), cell("p99_ms", 2),
                cell("p999_ms", 2), cell("kb_per_connection", 1), cell("opening_cpu_us", 0), cell("missing", 0),
                self.busiest(name, work),
            ]
        }
        let people = parts[0] == Work.wholeRoad.rawValue ? "riders and as many followers" : "connections"
        return ["## \(parts[0]), \(parts[1]) \(people)", ""] + self.table(head, rows)
    }

    private func handshakes(_ work: String) -> [String] {
        let head = [
            String(work.split(separator: "/")[1]), "a second", "CPU µs each", "user", "system", "× Enroute",
            "busiest core",
        ]
        let rows = self.contestants.map { name -> [String] in
            [
                self.label(name), self.text(self.figure(name, work, "per_second"), 0),
                self.text(self.figure(name, work, "cpu_us"), 0, spread: true),
                self.text(self.figure(name, work, "user_us"), 0), self.text(self.figure(name, work, "system_us"), 0),
                self.ratio(name, work, "cpu_us"), self.busiest(name, work),
            ]
        }
        return ["## Handshakes, \(work.split(separator: "/")[1])", ""] + self.table(head, rows)
    }

    /// The busiest core. Redis and the generator share one if there are two.
    private func busiest(_ name: String, _ work: String) -> String {
        let server = self.figure(name, work, "server_core_percent")?.median ?? 0
        let redis = self.figure(name, work, "redis_core_percent")?.median ?? 0
        let generator = self.figure(name, work, "generator_core_percent")?.median ?? 0
        let shares =
            self.machine.cores > 2
            ? [("Redis", redis), ("generator", generator)] : [("Redis and generator", redis + generator)]
        let most = ([("server", server)] + shares).max { $0.1 < $1.1 }!
        return "\(most.0) \(decimals(most.1, 0)) %"
    }

    private var notes: [String] {
        var lines = ["## Notes", ""]
        for name in self.contestants {
            let versions = (self.versions[name] ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            if !versions.isEmpty { lines.append("- \(name): \(versions.joined(separator: ", ")).") }
        }
        for (name, reason) in self.leftOut.sorted(by: { $0.key < $1.key }) {
            lines.append("- \(name) was skipped: \(reason).")
        }
        for failure in self.failures { lines.append("- No results: \(failure)") }
        for (name, warnings) in self.warnings.sorted(by: { $0.key < $1.key }) {
            for warning in warnings { lines.append("- \(name): \(warning).") }
        }
        return lines.count == 2 ? [] : lines
    }
}
