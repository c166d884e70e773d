import EnrouteWire
import Foundation
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Watchers of a zone with thousands of jobs.
@Suite(.serialized, .needsMachine(for: .volume)) struct ZoneJobsVolumeTests {
    private static let jobs = 3_500

    private static func create(_ gateway: RunningGateway) async throws {
        let now = Int64(Date.now.timeIntervalSince1970 * 1000)
        for number in 0..<Self.jobs {
            let job = JobID("job-\(number)")!
            _ = try await gateway.ledger.create(
                NewJob(
                    job: job, kind: .delivery, customer: PersonID("anna")!, rider: nil, zone: RunningGateway.rome,
                    actor: PersonID("orders")!),
                epoch: "epoch-1"
            ).get()
            try await gateway.ledger.listing.update(job, now: now).get()
        }
    }

    @Test func `a watcher that stops reading receives the current list later, and is not disconnected`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { settings in
                settings.limits.socketSendBytes = 4_096
                // The client does not read for as long as the changes take.
                settings.limits.writeStallSeconds = 120
                settings.limits.pongSeconds = 120
            } _: { gateway in
                try await Self.create(gateway)
                let (port, token) = (gateway.port, try await gateway.token("olga", .ops))
                let socket = Inboxed<RawSocket>()
                try await blocking {
                    let opened = try RawSocket.session(port: port, token: token, kernelBytes: 2_048)
                    try opened.send(RawSocket.frame(0x81, Array(#"{"type":"watch","zone":"rome","jobs":true}"#.utf8)))
                    let list = try opened.readUntil(Array(#""more":false"#.utf8))
                    let text = String(decoding: list, as: UTF8.self)
                    #expect(text.matches(of: /"type":"jobs"/).count == Self.jobs / 100)
                    socket.value = opened
                }
                for number in 0..<Self.jobs {
                    _ = try await gateway.ledger.publish(
                        .accepted, of: JobID("job-\(number)")!, by: PersonID("orders")!, source: "rest"
                    ).get()
                }
                try await gateway.waitForMetric("enroute_zone_jobs_resets_total 1\n")
                let shown = try await blocking {
                    let opened = try #require(socket.value)
                    _ = try opened.readUntil(Array(#""reset":true"#.utf8))
                    // The last changes may arrive after the list. Reading fails if nothing arrives for long.
                    var accepted: Set<String> = []
                    while accepted.count < Self.jobs {
                        let text = String(decoding: try opened.readUntil(Array(#""gone":[]"#.utf8)), as: UTF8.self)
                        for match in text.matches(of: /"job":"(job-\d+)","kind":"delivery","status":"accepted"/) {
                            accepted.insert(String(match.1))
                        }
                    }
                    return accepted.count
                }
                #expect(shown == Self.jobs)
                #expect(try await gateway.manage("/metrics").text.contains("enroute_outbox_overflows_total 0\n"))
            }
        }
    }
}
