import EnrouteWire
import Testing

@testable import Access

@Suite struct GrantTests {
    private static let (anna, rider, job) = (PersonID("anna")!, PersonID("rider-1")!, JobID("j1")!)

    @Test func `everything the permission table does not list is denied`() {
        let allowed = Role.allCases.map { role in
            Verb.allCases.filter { Grant(person: Self.anna, role: role).allows($0) }.count
        }
        #expect(allowed == [6, 10, 18, 22])
    }

    @Test func `a job can be reached by its customer, its rider, operations and services`() {
        func reaches(_ person: String, _ role: Role, only: JobID? = nil) -> Bool {
            Grant(person: PersonID(person)!, role: role, job: only).reaches(
                Self.job, customer: Self.anna, rider: Self.rider)
        }
        #expect(
            reaches("anna", .customer) && reaches("rider-1", .rider) && reaches("x", .ops) && reaches("x", .service))
        #expect(!reaches("bert", .customer) && !reaches("rider-2", .rider))
        #expect(!reaches("rider-1", .customer) && !reaches("anna", .rider))
        #expect(!reaches("anna", .customer, only: JobID("j2")!))
        #expect(reaches("anna", .customer, only: Self.job))
    }

    @Test func `a narrowed grant reaches only that job or that rider's jobs`() {
        func reaches(_ grant: Grant) -> Bool { grant.reaches(Self.job, customer: Self.anna, rider: Self.rider) }
        let (other, stranger) = (JobID("j2")!, PersonID("rider-2")!)
        for role in [Role.ops, .service] {
            #expect(reaches(Grant(person: PersonID("x")!, role: role, job: Self.job)))
            #expect(!reaches(Grant(person: PersonID("x")!, role: role, job: other)))
            #expect(reaches(Grant(person: PersonID("x")!, role: role, rider: Self.rider)))
            #expect(!reaches(Grant(person: PersonID("x")!, role: role, rider: stranger)))
            #expect(!reaches(Grant(person: PersonID("x")!, role: role, job: other, rider: Self.rider)))
        }
        // Narrowing never grants more.
        #expect(!reaches(Grant(person: stranger, role: .rider, rider: Self.rider)))
        #expect(!reaches(Grant(person: stranger, role: .customer, job: Self.job)))
        let unassigned = Grant(person: Self.anna, role: .customer, rider: Self.rider)
        #expect(!unassigned.reaches(Self.job, customer: Self.anna, rider: nil))
    }

    @Test func `a grant narrowed to a rider's jobs cannot change them unless it belongs to that rider`() {
        for role in Role.allCases {
            let grant = Grant(person: PersonID("x")!, role: role, rider: Self.rider)
            #expect(Verb.allCases.filter { grant.allows($0) } == [.followJob, .readJob, .createTicket])
        }
        let own = Grant(person: Self.rider, role: .rider, rider: Self.rider)
        #expect(
            Verb.allCases.filter { own.allows($0) } == [
                .followJob, .readJob, .changeStatus, .reportLocation, .switchTravel, .createTicket, .readVerdicts,
                .beAvailable, .takeTask, .navigate,
            ])
        #expect(own.covers(Self.job) && !Grant(person: Self.rider, role: .rider, job: JobID("j2")!).covers(Self.job))
    }

    @Test func `a token narrowed to a job or a rider cannot read the pool or change riders`() {
        for role in [Role.ops, .service] {
            let verbs: [Verb] = [.followPool, .readRiders, .forceOffline] + (role == .service ? [.describeRider] : [])
            for verb in verbs {
                #expect(Grant(person: Self.anna, role: role).allows(verb))
                #expect(!Grant(person: Self.anna, role: role, job: Self.job).allows(verb), "\(verb)")
                #expect(!Grant(person: Self.anna, role: role, rider: Self.rider).allows(verb), "\(verb)")
            }
        }
    }

    @Test func `B55: a rider's token for one job can change that job but not the rider`() {
        let (whole, narrow) = (
            Grant(person: Self.rider, role: .rider), Grant(person: Self.rider, role: .rider, job: Self.job)
        )
        #expect(whole.allows(.beAvailable) && !narrow.allows(.beAvailable))
        for verb in [Verb.takeTask, .reportLocation, .switchTravel, .changeStatus, .readJob] {
            #expect(narrow.allows(verb), "\(verb)")
        }
    }

    @Test func `a job without a rider cannot be reached by any rider`() {
        #expect(!Grant(person: Self.rider, role: .rider).reaches(Self.job, customer: Self.anna, rider: nil))
    }
}
