import Access
import Foundation
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Requests with an Idempotency-Key, while Redis hangs.
@Suite(.needsMachine(for: .faults)) struct RepeatedRequestOutageTests {
    private static func create(_ job: String, _ gateway: RunningGateway) async throws -> RESTResponse {
        try await gateway.rest(
            "POST", "/api/v1/jobs", by: "orders", .service,
            #"{"job":"\#(job)","kind":"delivery","customer":"anna"}"#, headers: ["Idempotency-Key: key-of-\(job)"])
    }

    @Test func `a request that failed because Redis hung is carried out again long before its claim expires`()
        async throws
    {
        try await within {
            try await RestartableRedis.running { redis in
                let address = try redis.address
                try await RunningGateway.run(isSecure: false, at: (address, address)) {
                    $0.redisTiming.answer = .seconds(1)
                } _: { gateway in
                    // Redis knows the scripts after this.
                    #expect(try await Self.create("j-1", gateway).status == 201)
                    try await redis.freeze()
                    let failed = try await Self.create("j-2", gateway)
                    #expect(failed.status == 503 && failed.headers["retry-after"] != nil, "\(failed)")
                    try await redis.thaw()
                    let soon = IdempotencyRecords.claimDuration - .seconds(5)
                    try await becomes("the request is carried out", within: soon) {
                        try await Self.create("j-2", gateway).status == 201
                    }
                }
            }
        }
    }
}
