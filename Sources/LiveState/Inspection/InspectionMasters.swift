// The findings about a cluster. Every master is inspected, because each has its own settings, users and memory.

/// The facts about one master of a Redis, and its findings.
package struct InspectedMaster: Sendable {
    /// Host and port.
    let name: String
    let facts: RedisFacts
    let findings: [Finding]

    package init(name: String, facts: RedisFacts, findings: [Finding]) {
        (self.name, self.facts, self.findings) = (name, facts, findings)
    }
}

extension [InspectedMaster] {
    /// The findings, most severe first. A finding that is the same for all masters appears once; the others contain the
    /// master's name.
    package var findings: [Finding] {
        guard let first = self.first, self.count > 1 else { return self.first?.findings ?? [] }
        let common = self.dropFirst().reduce(into: Set(first.findings)) { $0.formIntersection($1.findings) }
        let single = self.flatMap { master in
            master.findings.filter { !common.contains($0) }.map { $0.about(master.name) }
        }
        return (first.findings.filter(common.contains) + single).gravestFirst
    }

    /// Facts for comparing two Redis instances: those of the first master, with the keys of all. `nil` without a
    /// master.
    package var together: RedisFacts? {
        guard var facts = self.first?.facts else { return nil }
        facts.keys = self.reduce(into: []) { $0.formUnion($1.facts.keys) }
        return facts
    }
}

extension Finding {
    fileprivate func about(_ master: String) -> Finding {
        var finding = self
        finding.what = "\(master): \(self.what)"
        return finding
    }
}
