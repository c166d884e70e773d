import EnrouteWire
import Testing

@Suite struct JobPartyTests {
    /// An independent copy of the table: which party may set which status from which. The service is left out, because
    /// it may set all.
    private static let table: [JobParty: [JobStatus: Set<JobStatus>]] = [
        .customer: [.cancelled: [.pendingVendorAcceptance, .assigned, .allocationFailed]],
        .rider: [
            .inTransit: [.readyForPickup], .delivered: [.inTransit], .onTheWay: [.assigned],
            .workInProgress: [.onTheWay, .assigned], .completed: [.workInProgress],
        ],
        .ops: [
            .allocationFailed: [.accepted, .preparing, .readyForPickup],
            .cancelled: [
                .pendingVendorAcceptance, .accepted, .preparing, .readyForPickup, .inTransit, .allocationFailed,
                .assigned, .onTheWay, .workInProgress,
            ],
        ],
    ]

    @Test(arguments: JobParty.allCases)
    func `each party may set the statuses of the table and no others`(party: JobParty) {
        for status in JobStatus.allCases {
            let origins = Set(status.origins(causedBy: party))
            if party == .service {
                #expect(origins == Set(status.predecessors))
            } else {
                #expect(origins == Self.table[party]?[status] ?? [], "\(party) \(status)")
            }
            #expect(status.canBeCaused(by: party) == (party == .service || !origins.isEmpty))
        }
    }

    @Test func `no party can bypass the lifecycle`() {
        for party in JobParty.allCases {
            for status in JobStatus.allCases {
                #expect(Set(status.origins(causedBy: party)).isSubset(of: status.predecessors))
            }
        }
    }
}
