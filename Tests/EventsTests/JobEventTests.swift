import EnrouteWire
import Foundation
import Testing

@testable import Events

@Suite struct JobEventTests {
    private func event(_ type: String, _ data: String, _ members: String = "") throws -> JobEvent {
        try JobEvent(CloudEvent.structured(CloudEventTests.text(members, type: type, data: data)))
    }

    private static let job = JobID("j")!
    private static let time = #","time":"2026-11-21T18:00:00Z""#

    @Test func `a created event corresponds to the body that creates a job`() throws {
        let created = try self.event(
            "created",
            #"{"job":"j","kind":"delivery","customer":"anna","rider":"r","zone":"z","destination":{"lat":41.9,"lon":12.5}}"#
        )
        #expect(
            created
                == .created(
                    CreatedJob(
                        job: Self.job, kind: .delivery, customer: PersonID("anna")!, rider: PersonID("r"),
                        zone: ZoneID("z"), destination: Coordinate(latitude: 41.9, longitude: 12.5), vendor: nil)))
    }

    @Test func `a created event has its recipient, as the body that creates a job`() throws {
        let event = try self.event(
            "created",
            #"{"job":"j","kind":"delivery","customer":"anna","recipient":{"name":"Anna","floor":"3"},"vehicle":null}"#)
        guard case .created(let created) = event else { throw EventFault.unusable("\(event)") }
        #expect(created.recipient == Recipient(name: "Anna", floor: "3"))
    }

    @Test func `a vendor has a location, an address, a name, or several of them`() throws {
        for (json, vendor) in [
            (#"{"lat":1,"lon":2}"#, PickupPlace(place: Coordinate(latitude: 1, longitude: 2))),
            (#"{"name":"Da Gino"}"#, PickupPlace(name: "Da Gino")),
            (#"{"lat":null,"address":"Via Appia 1"}"#, PickupPlace(address: "Via Appia 1")),
            (
                #"{"lat":1,"lon":2,"address":"Via Appia 1","name":"Da Gino"}"#,
                PickupPlace(
                    place: Coordinate(latitude: 1, longitude: 2), name: "Da Gino", address: "Via Appia 1")
            ),
        ] {
            let event = try self.event(
                "created", #"{"job":"j","kind":"delivery","customer":"anna","vendor":\#(json)}"#)
            guard case .created(let created) = event else { throw EventFault.unusable("\(event)") }
            #expect(created.vendor == vendor)
        }
    }

    @Test func `a null rider unassigns the job, and a missing one leaves it unchanged`() throws {
        let at: Int64 = 1_795_284_000_000
        #expect(
            try self.event("assigned", #"{"job":"j","rider":null}"#, Self.time)
                == .assigned(Self.job, rider: .some(nil), customer: nil, at: at))
        #expect(
            try self.event("assigned", #"{"job":"j","customer":"bert"}"#, Self.time)
                == .assigned(Self.job, rider: .none, customer: PersonID("bert"), at: at))
    }

    @Test(arguments: [
        ("other", "{}", "type must be"), ("status", "7", "JSON object"),
        ("status", #"{"status":"accepted"}"#, "needs job"),
        ("status", #"{"job":"a b","status":"accepted"}"#, "job must be"),
        ("status", #"{"job":"j","status":"lost"}"#, "status must be"),
        ("status", #"{"job":7,"status":"accepted"}"#, "job in the data has the wrong type"),
        ("created", #"{"job":"j","kind":"gift","customer":"a"}"#, "kind must be"),
        ("created", #"{"job":"j","kind":"delivery"}"#, "needs customer"),
        (
            "created", #"{"job":"j","kind":"delivery","customer":"a","vehicle":"bicycle"}"#,
            "vehicle belongs in display"
        ),
        (
            "created", #"{"job":"j","kind":"delivery","customer":"a","recipient":{"contact":"x"}}"#,
            "recipient.contact must be"
        ),
        ("created", #"{"job":"j","kind":"delivery","customer":"a","vendor":{"lat":99,"lon":0}}"#, "vendor must have"),
        ("created", #"{"job":"j","kind":"delivery","customer":"a","vendor":{"lat":9}}"#, "vendor.lat and vendor.lon"),
        ("created", #"{"job":"j","kind":"delivery","customer":"a","vendor":{"name":""}}"#, "vendor.name must be"),
        ("created", #"{"job":"j","kind":"delivery","customer":"a","vendor":{"address":" "}}"#, "vendor.address must"),
        (
            "created", #"{"job":"j","kind":"delivery","customer":"a","vendor":{"name":"\u202ea"}}"#,
            "vendor.name must be"
        ),
        ("created", #"{"job":"j","destination":{"lat":9}}"#, "The data needs destination.lon."),
        (
            "created", #"{"job":"j","destination":{"lat":null,"lon":9}}"#,
            "destination.lat in the data has the wrong type"
        ),
        ("created", #"{"job":"j","display":{"items":["a",7]}}"#, "display.items[1] in the data has the wrong type"),
        ("created", #"{"job":"j","metadata":{"data":7}}"#, "metadata.data in the data has the wrong type"),
        ("assigned", #"{"job":"j"}"#, "needs rider, customer"), ("assigned", #"{"job":"j","rider":"r"}"#, "needs time"),
    ])
    func `an event that can never be applied is rejected with the reason`(type: String, data: String, reason: String)
        throws
    {
        let fault = #expect(throws: EventFault.self) { _ = try self.event(type, data) }
        #expect(fault?.kind == .unusable)
        #expect(fault?.reason.contains(reason) == true, "\(fault?.reason ?? "")")
    }
}

@Suite struct EventOrderTests {
    private func order(
        _ status: JobStatus, after current: JobStatus, kind: JobKind = .delivery, at: Int64? = nil
    ) -> EventOrder {
        EventOrder(status, of: kind, after: current, since: 1000, occurredAt: at)
    }

    @Test func `a next status is applied, an earlier one is superseded, a later one is not yet possible`() {
        #expect(self.order(.accepted, after: .pendingVendorAcceptance) == .next)
        #expect(self.order(.accepted, after: .inTransit) == .superseded)
        #expect(self.order(.accepted, after: .accepted) == .superseded)
        #expect(self.order(.pendingVendorAcceptance, after: .cancelled) == .superseded)
        #expect(self.order(.inTransit, after: .accepted) == .notYet)
        #expect(self.order(.completed, after: .assigned, kind: .service) == .notYet)
        // The lifecycle decides, whatever the event's time is.
        #expect(self.order(.accepted, after: .inTransit, at: 2000) == .superseded)
        #expect(self.order(.accepted, after: .pendingVendorAcceptance, at: 1) == .next)
    }

    @Test func `an impossible status is rejected`() {
        for (status, current) in [(JobStatus.cancelled, JobStatus.delivered), (.delivered, .cancelled)] {
            let reason =
                "The job is \(current.rawValue) and cannot become \(status.rawValue): \(current.rawValue) is final."
            #expect(self.order(status, after: current) == .rejected(reason))
        }
        let foreign = self.order(.onTheWay, after: .accepted)
        #expect(
            foreign
                == .rejected(
                    "A delivery never has the status on_the_way. Use one of pending_vendor_acceptance, accepted, "
                        + "preparing, ready_for_pickup, in_transit, delivered, cancelled, allocation_failed."))
    }

    @Test func `in the cycle between preparing and no rider found, the time decides`() {
        #expect(self.order(.preparing, after: .allocationFailed, at: 1001) == .next)
        #expect(self.order(.preparing, after: .allocationFailed, at: 999) == .superseded)
        #expect(self.order(.preparing, after: .readyForPickup, at: 1001) == .notYet)
        #expect(self.order(.preparing, after: .readyForPickup, at: 999) == .superseded)
        // Without a time.
        #expect(self.order(.preparing, after: .allocationFailed) == .next)
        #expect(self.order(.preparing, after: .readyForPickup) == .superseded)
    }

    @Test func `a delivery's events lead to the same status in every order, if each is retried until accepted`() {
        let way: [JobStatus] = [.accepted, .preparing, .allocationFailed, .readyForPickup]
        for order in permutations(Array(way.indices)) {
            var (current, at) = (JobStatus.pendingVendorAcceptance, Int64(0))
            var waiting = order
            while !waiting.isEmpty {
                let before = waiting.count
                waiting.removeAll { (index: Int) -> Bool in
                    let time = Int64(index + 1)
                    switch EventOrder(way[index], of: .delivery, after: current, since: at, occurredAt: time) {
                    case .next: (current, at) = (way[index], time)
                    case .superseded: break
                    case .notYet, .rejected: return false
                    }
                    return true
                }
                guard waiting.count < before else { break }
            }
            #expect(waiting.isEmpty && current == .readyForPickup, "\(order) ends with \(current)")
        }
    }
}

private func permutations(_ values: [Int]) -> [[Int]] {
    guard values.count > 1 else { return [values] }
    return values.flatMap { first in permutations(values.filter { $0 != first }).map { [first] + $0 } }
}
