import Access
import EnrouteWire
import TestSupport
import Testing

@testable import Gateway

/// What operations staff may decide about a job.
@Suite struct DispatcherTests {
    @Test func `operations staff assign a job to a rider and unassign it, and cannot change its customer`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await gateway.putJob("job-1", #"{"kind":"delivery","customer":"anna","zone":"rome"}"#)
                let path = "/api/v1/jobs/job-1/assignment"
                let made = try await gateway.rest("PUT", path, by: "olga", .ops, #"{"rider":"rider-1"}"#)
                #expect(made.status == 200 && made.text.contains(#""rider":"rider-1""#), "\(made)")
                for body in [#"{"customer":"bert"}"#, #"{"rider":"rider-2","insteadOf":"rider-1","customer":"bert"}"#] {
                    let refused = try await gateway.rest("PUT", path, by: "olga", .ops, body)
                    #expect(refused.status == 403, "\(refused)")
                }
                let taken = try await gateway.rest("DELETE", path, by: "olga", .ops)
                #expect(taken.status == 200 && taken.text.contains(#""customer":"anna""#), "\(taken)")
                #expect(!taken.text.contains("rider-1"))
            }
        }
    }
}
