// Delivers every status event exactly once and in order, to one reader with its own cursor.

import Foundation

/// Where a reader is in the record of a job's statuses.
struct StatusReader {
    /// The last event that was delivered; `nil` before the first.
    private(set) var cursor: StatusCursor?

    init(after cursor: StatusCursor?) { self.cursor = cursor }

    /// Returns the events that a snapshot adds: the missed ones, or the current status if they are lost.
    mutating func read(_ snapshot: WireSnapshot) -> [StatusEvent] {
        guard let cursor else { return self.delivered([snapshot.event(followsGap: false)]) }
        guard cursor.epoch == snapshot.epoch else { return self.delivered([snapshot.event(followsGap: true)]) }
        guard StatusID(cursor.id) < StatusID(snapshot.id) else { return [] }
        let missed = (snapshot.missed ?? []).filter {
            $0.epoch == cursor.epoch && StatusID(cursor.id) < StatusID($0.id)
        }
        guard missed.first?.prev == cursor.id, missed.last?.id == snapshot.id else {
            return self.delivered([snapshot.event(followsGap: true)])
        }
        return self.delivered(missed.map { $0.event(followsGap: false) })
    }

    /// Returns the event, unless it was delivered before.
    mutating func read(_ status: WireStatus) -> [StatusEvent] {
        guard let cursor, status.epoch == cursor.epoch, StatusID(cursor.id) < StatusID(status.id) else { return [] }
        return self.delivered([status.event(followsGap: status.prev != cursor.id)])
    }

    /// Returns the status of a view, for a reader without a cursor.
    mutating func read(_ view: JobView) -> [StatusEvent] {
        guard self.cursor == nil else { return [] }
        return self.delivered([StatusEvent(cursor: view.cursor, status: view.status, at: view.statusAt)])
    }

    private mutating func delivered(_ events: [StatusEvent]) -> [StatusEvent] {
        if let last = events.last { self.cursor = last.cursor }
        return events
    }
}

extension StatusCursor {
    /// Whether a gateway accepts the cursor. A stored one may have been damaged.
    var isValid: Bool {
        let numbers = self.id.split(separator: "-", omittingEmptySubsequences: false)
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        return JobID.isValid(self.epoch) && numbers.count == 2
            && numbers.allSatisfy { (1...20).contains($0.utf8.count) && $0.utf8.allSatisfy(digits.contains) }
    }
}

/// The id of a status event: `<ms>-<count>`, compared by both numbers.
struct StatusID: Comparable {
    private let time: UInt64
    private let count: UInt64

    init(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        self.time = parts.first.flatMap { UInt64($0) } ?? 0
        self.count = parts.dropFirst().first.flatMap { UInt64($0) } ?? 0
    }

    static func < (one: StatusID, other: StatusID) -> Bool { (one.time, one.count) < (other.time, other.count) }
}

extension WireSnapshot {
    fileprivate func event(followsGap: Bool) -> StatusEvent {
        StatusEvent(cursor: self.cursor, status: self.status, at: Date(ms: self.statusAt), followsGap: followsGap)
    }
}

extension WireStatus {
    fileprivate func event(followsGap: Bool) -> StatusEvent {
        StatusEvent(
            cursor: StatusCursor(epoch: self.epoch, id: self.id), status: self.status, at: Date(ms: self.at),
            followsGap: followsGap)
    }
}
