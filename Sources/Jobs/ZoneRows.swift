// The open jobs of a zone across successive reads, for watchers: what each read has changed.

package import EnrouteWire

/// The rows of a zone. A value: it has no clock and reads nothing.
package struct ZoneRows: Sendable {
    package private(set) var rows: [JobID: JobRow] = [:]

    /// Maximum number of rows; further jobs are not shown. The list of a zone has the same maximum.
    package static let maxRows = 20_000

    package init() {}

    /// What a read has changed.
    package struct Changes: Sendable, Hashable {
        package var rows: [JobRow] = []
        package var gone: [JobID] = []
        package var isEmpty: Bool { self.rows.isEmpty && self.gone.isEmpty }

        package init(rows: [JobRow] = [], gone: [JobID] = []) { (self.rows, self.gone) = (rows, gone) }
    }

    /// The jobs whose riders share their positions. Their tracking states change with time, without any event.
    var sharing: [JobID] { self.rows.values.filter { $0.deadline != nil }.map(\.job) }

    package func contains(_ job: JobID) -> Bool { self.rows[job] != nil }

    /// Applies a read of the whole zone.
    package mutating func replace(by read: [JobRow]) -> Changes {
        let found = Set(read.map(\.job))
        let gone = self.rows.keys.filter { !found.contains($0) }
        return self.apply(read, gone: gone)
    }

    /// Applies a read of some jobs: those that it did not find are not in the zone.
    package mutating func update(_ jobs: [JobID], by read: [JobRow]) -> Changes {
        let found = Set(read.map(\.job))
        return self.apply(read, gone: jobs.filter { !found.contains($0) && self.rows[$0] != nil })
    }

    private mutating func apply(_ read: [JobRow], gone: [JobID]) -> Changes {
        var changes = Changes(gone: gone)
        for job in gone { self.rows[job] = nil }
        for row in read where self.rows[row.job] != row {
            guard self.rows[row.job] != nil || self.rows.count < Self.maxRows else { continue }
            self.rows[row.job] = row
            changes.rows.append(row)
        }
        return changes
    }
}
