// The open jobs of a zone across successive reads. Each row carries the version at which it last changed, so a client that
// polls receives only the changed rows instead of thousands.

package import EnrouteWire

/// The rows of a zone's jobs, with versions. A value: it has no clock and reads nothing.
package struct VersionedRows: Sendable {
    /// Distinguishes these rows from those of any other gateway or run.
    let epoch: String
    /// Version of the last change; 0 before the first read.
    private(set) var version = 0
    private var rows: [JobID: (row: JobRow, version: Int)] = [:]
    /// Jobs that were removed, oldest first.
    private var removed: [(job: JobID, version: Int)] = []
    /// A client with an earlier version must start again, because removals before this version are no longer known.
    private var oldestKnown = 0

    /// Maximum number of removals to remember.
    static let maxRemovals = 5_000

    init(epoch: String = String(UInt64.random(in: .min ... .max), radix: 36)) { self.epoch = epoch }

    var count: Int { self.rows.count }

    package func contains(_ job: JobID) -> Bool { self.rows[job] != nil }

    /// Applies a new read. If a job occurs twice, the last row counts.
    mutating func apply(_ reading: [JobRow]) {
        let next = self.version + 1
        var isChanged = false
        var absent = Set(self.rows.keys)
        for row in reading {
            absent.remove(row.job)
            guard self.rows[row.job]?.row != row else { continue }
            self.rows[row.job] = (row, next)
            isChanged = true
        }
        for job in absent {
            self.rows[job] = nil
            self.removed.append((job, next))
            isChanged = true
        }
        if isChanged { self.version = next }
        self.trimRemoved()
    }

    private mutating func trimRemoved() {
        let excess = self.removed.count - Self.maxRemovals
        guard excess > 0 else { return }
        self.oldestKnown = self.removed[excess - 1].version
        self.removed.removeFirst(excess)
    }

    /// The rows of `zone` for a client that has seen the version `seen`: what changed since, or everything if that is unknown.
    ///
    /// - Parameter seen: a version of `rows`; `nil` for none.
    package func rows(of zone: ZoneID, since seen: String?) -> JobRows {
        guard let seen = seen.flatMap({ self.known($0) }) else {
            return self.page(of: zone, limit: self.rows.count) { _ in true }
        }
        let rows = self.rows.values.filter { $0.version > seen }.map(\.row)
        // A job that was removed and added again is among the rows.
        let removed = Set(self.removed.filter { $0.version > seen && self.rows[$0.job] == nil }.map(\.job))
        return JobRows(
            zone: zone, version: self.name, isReset: false, rows: rows, gone: Array(removed), count: self.count)
    }

    /// The jobs that `isWanted` selects, ordered by id.
    ///
    /// - Parameters:
    ///   - last: only jobs after this one.
    ///   - limit: maximum number of rows.
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

    /// The version with this name, if everything that changed since is still known.
    private func known(_ name: String) -> Int? {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == self.epoch, let version = Int(parts[1]),
            (self.oldestKnown...self.version).contains(version), version > 0
        else { return nil }
        return version
    }
}
