// What a caller has seen of a job, so that its change is made on top of that or not at all.

package import EnrouteWire

/// The newest status event that a caller knows of.
package struct ExpectedHead: Sendable, Hashable {
    /// Nonce of the record it is of; `nil` when the caller does not say.
    package var epoch: String?
    package var id: StatusID

    package init(epoch: String? = nil, id: StatusID) {
        self.epoch = epoch
        self.id = id
    }

    /// An event that no job has: what is made on top of it is never made.
    package static let never = ExpectedHead(id: StatusID("0-0")!)

    /// As publish_status takes it: `<id>` or `<epoch>.<id>`.
    var text: String { (self.epoch.map { "\($0)." } ?? "") + self.id.description }
}
