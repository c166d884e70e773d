// A rider, as REST returns it to services and operations staff.

internal import EnrouteWire
internal import Jobs
internal import LiveState

extension RegisteredRider {
    private struct Document: Encodable {
        struct Task: Encodable {
            var job: String
            var state: String
        }

        struct Card: Encodable {
            var name: String?
            var photo: String?
            var vehicle: String?
            var plate: String?
            var contact: String?
        }

        var rider: String
        var zone: String
        var status: String
        var reachable: Bool
        var approved: Bool
        var capacity: Int
        var available: Bool
        var draining: Bool
        /// Microseconds with 16 digits, as a string like IDs.
        var version: String
        var statusAt: Int64?
        var heartbeat: Int64?
        var device: String?
        var reason: String?
        var card: Card?
        var tasks: [Task]
    }

    /// The rider as a document of the REST interface.
    var document: some Encodable {
        let record = self.record
        return Document(
            rider: self.rider.text, zone: self.zone.text, status: record.status.rawValue,
            reachable: record.isReachable, approved: record.isApproved, capacity: record.capacity,
            available: record.isAvailable, draining: record.isDraining, version: String(record.version),
            statusAt: record.statusAt, heartbeat: record.heartbeat, device: record.device?.text,
            reason: record.reason,
            card: record.card.map {
                .init(
                    name: $0.name, photo: $0.photo, vehicle: $0.vehicle?.rawValue, plate: $0.plate, contact: $0.contact)
            },
            tasks: record.tasks.sorted { $0.key.text < $1.key.text }.map {
                .init(job: $0.key.text, state: $0.value.rawValue)
            })
    }
}
