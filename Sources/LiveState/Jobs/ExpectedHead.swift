// The state of a job that a caller has seen. A change based on it is applied to exactly that state, or not at all.

package import EnrouteWire

/// The newest status event that a caller knows.
package struct ExpectedHead: Sendable, Hashable {
    /// Nonce of the record; `nil` when the caller does not state it.
    package var epoch: String?
    package var id: StatusID

    package init(epoch: String? = nil, id: StatusID) {
        self.epoch = epoch
        self.id = id
    }

    /// An event that no job has, so a change that expects it is never applied.
    package static let never = ExpectedHead(id: StatusID("0-0")!)

    /// The argument of publish_status: `<id>` or `<epoch>.<id>`.
    var text: String { (self.epoch.map { "\($0)." } ?? "") + self.id.description }
}
