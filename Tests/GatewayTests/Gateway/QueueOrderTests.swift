import Foundation
import TestSupport
import Testing

@testable import Gateway

/// Events of a queue in the wrong order and in other envelopes. The visibility timeout is twelve hours, so a message that
/// arrives again was returned by the gateway.
@Suite(.needsMachine(for: .faults)) struct QueueOrderTests {
    private static let visibility = #"{"VisibilityTimeout":"43200"}"#

    @Test(QueueTests.isThere)
    func `events of a queue in the wrong order are returned until they can be applied`()
        async throws
    {
        try await within(.seconds(240)) {
            try await Moto.running { moto in
                let url = try await moto.makeQueue("orders", Self.visibility)
                try await QueueTests.serve(url) { sender in
                    _ = try await sender.send(EventRoutesTests.created)
                    let first = EventRoutesTests.status("e-1", "accepted", second: 1)
                    let second = EventRoutesTests.status("e-2", "preparing", second: 2)
                    // Both are in the queue before one of them is received again.
                    try await moto.send([second, first, second], to: url)
                    try await becomes("the queue is empty") { try await moto.count(url) == 0 }
                    let job = try await sender.gateway.ledger.log(of: .init("j1")!).get()
                    #expect(job.map(\.status.rawValue) == ["pending_vendor_acceptance", "accepted", "preparing"])
                    let metrics = try await sender.gateway.manage("/metrics").text
                    #expect(metrics.contains(#"enroute_events_refused_total{reason="not_yet"}"#))
                    #expect(metrics.contains(#"enroute_events_processed_total{outcome="repeated"} 1"#))
                }
            }
        }
    }

    @Test(QueueTests.isThere) func `an SNS message in a queue is unwrapped to its event`()
        async throws
    {
        try await within(.seconds(240)) {
            try await Moto.running { moto in
                let url = try await moto.makeQueue("orders", Self.visibility)
                let signer = try TopicSigner()
                let events = [
                    ("m-1", EventRoutesTests.created),
                    ("m-2", #"{"type":"io.enroute.job.status","job":"j1","status":"accepted"}"#),
                    ("m-3", EventRoutesTests.event("e-3", "cancelled", #"{"job":"j1"}"#)),
                ]
                let envelopes = try events.map { try signer.envelope($1, host: "sns.example", id: $0) }
                try await QueueTests.serve(url) { sender in
                    for envelope in envelopes {
                        try await moto.send([envelope], to: url)
                        try await becomes("the queue is empty") { try await moto.count(url) == 0 }
                    }
                    let status = try await sender.status()
                    #expect(status == "cancelled")
                    let metrics = try await sender.gateway.manage("/metrics").text
                    #expect(metrics.contains(#"enroute_events_processed_total{outcome="applied"} 3"#))
                }
            }
        }
    }
}
