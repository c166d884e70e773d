// The revocations that apply to a job or a rider: from a gateway's memory, or from the stream.

internal import Access
internal import EnrouteWire
internal import NIOCore
internal import Redis

extension FactsCollector {
    /// Maximum number of pages of the stream `control`: as many as it can hold.
    private static let revocationPages = 50

    func revocations(job: JobID?, people: Set<PersonID>, links: [String]) async throws -> RevocationFacts {
        var facts = RevocationFacts()
        let subjects =
            (job.map { [RevocationSubject.job($0)] } ?? []) + people.map { .user($0) } + links.map { .link($0) }
        if let revocationTime {
            for subject in subjects { if let at = revocationTime(subject) { facts.add(subject, at) } }
            return facts
        }
        let (key, wanted) = (self.keyspace.control, Set(subjects))
        var end = "+"
        for _ in 0..<Self.revocationPages {
            let page = try await self.ledger.reading(
                ["XREVRANGE", .text(key), .text(end), "-", "COUNT", .integer(RevocationLog.page)], of: key
            ) { $0.array }.get()
            guard let answer = page.value else {
                (facts.error, facts.malformedKey) = (page.error, page.malformedKey)
                break
            }
            let entries = answer.compactMap { entry -> RevocationLog.Entry? in
                guard let parts = entry.array, parts.count == 2, let id = parts[0].text, let fields = parts[1].array
                else { return nil }
                return RevocationLog.Entry(id: id, fields: fields.map { $0.text ?? "" })
            }
            for entry in entries {
                guard let revocation = entry.revocation else {
                    if !entry.isOfLaterVersion { facts.malformedKey = key }
                    continue
                }
                // The newest is read first and decides.
                guard wanted.contains(revocation.subject) else { continue }
                facts.add(revocation.subject, revocation.at)
            }
            guard answer.count == RevocationLog.page, let last = entries.last?.id else { break }
            end = "(" + last
        }
        return facts
    }
}

extension RevocationFacts {
    fileprivate mutating func add(_ subject: RevocationSubject, _ at: Int64) {
        switch subject {
        case .job: self.job = max(self.job ?? at, at)
        case .user(let person): self.people[person] = max(self.people[person] ?? at, at)
        case .link(let id): self.links[id] = max(self.links[id] ?? at, at)
        case .token: break
        }
    }
}
