// The open jobs of a zone from one reading to the next: each row with the version at which it last changed, so that who looks
// on is told what changed, and not thousands of rows again.

package import EnrouteWire

/// What is shown of a zone's jobs, and what of it changed since when. A value: it knows no clock and reads nothing.
package struct VersionedRows: Sendable {
    /// Tells this history from any other, another gateway's say.
    let epoch: String
    /// Of the last change; 0 before the first reading.
    private(set) var version = 0
    private var rows: [JobID: (row: JobRow, version: Int)] = [:]
    /// Jobs that went, oldest first.
    private var gone: [(job: JobID, version: Int)] = []
    /// What was seen at an earlier version can not be brought up to date: of that time it is not known any more who went.
    private var oldestKnown = 0

    /// Jobs that went and are remembered, at most.
    static let mostGone = 5_000

    init(epoch: String = String(UInt64.random(in: .min ... .max), radix: 36)) { self.epoch = epoch }

    var count: Int { self.rows.count }

    package func contains(_ job: JobID) -> Bool { self.rows[job] != nil }

    /// Takes a new reading in. Of two rows of one job the last counts.
    mutating func take(_ reading: [JobRow]) {
        let next = self.version + 1
        var isNews = false
        var absent = Set(self.rows.keys)
        for row in reading {
            absent.remove(row.job)
            guard self.rows[row.job]?.row != row else { continue }
            self.rows[row.job] = (row, next)
            isNews = true
        }
        for job in absent {
            self.rows[job] = nil
            self.gone.append((job, next))
            isNews = true
        }
        if isNews { self.version = next }
        self.forget()
    }

    private mutating func forget() {
        let excess = self.gone.count - Self.mostGone
        guard excess > 0 else { return }
        self.oldestKnown = self.gone[excess - 1].version
        self.gone.removeFirst(excess)
    }

    /// What is to be shown of `zone` to who has seen `seen`: what changed since, or all where that is not known.
    ///
    /// - Parameter seen: a version of `rows`; `nil`: none.
    package func rows(of zone: ZoneID, since seen: String?) -> JobRows {
        guard let seen = seen.flatMap({ self.known($0) }) else {
            return self.page(of: zone, limit: self.rows.count) { _ in true }
        }
        let rows = self.rows.values.filter { $0.version > seen }.map(\.row)
        // Who went and came back is among the rows.
        let gone = Set(self.gone.filter { $0.version > seen && self.rows[$0.job] == nil }.map(\.job))
        return JobRows(
            zone: zone, version: self.name, isReset: false, rows: rows, gone: Array(gone), count: self.count)
    }

    /// The jobs that `isWanted`, in the order of their names.
    ///
    /// - Parameters:
    ///   - last: those after this one.
    ///   - limit: so many at most.
    package func page(of zone: ZoneID, after last: JobID? = nil, limit: Int, _ isWanted: (JobRow) -> Bool) -> JobRows {
        let wanted = self.rows.values.map(\.row).filter { row in
            (last.map { row.job.text > $0.text } ?? true) && isWanted(row)
        }.sorted { $0.job.text < $1.job.text }
        let rows = Array(wanted.prefix(limit))
        return JobRows(
            zone: zone, version: self.name, isReset: true, rows: rows, count: self.count,
            next: rows.count < wanted.count ? rows.last?.job : nil)
    }

    private var name: String { "\(self.epoch).\(self.version)" }

    /// The version of this history that goes by that name, if what changed since is still known.
    private func known(_ name: String) -> Int? {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == self.epoch, let version = Int(parts[1]),
            (self.oldestKnown...self.version).contains(version), version > 0
        else { return nil }
        return version
    }
}
