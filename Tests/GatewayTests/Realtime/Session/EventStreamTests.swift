import Access
import EnrouteWire
import Foundation
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Following by server-sent events over real sockets, with the same guarantees as a WebSocket.
@Suite struct EventStreamTests {
    @Test func `the answer to HEAD has the headers of a stream, and no length`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                let answer = try await gateway.rest("HEAD", "/api/v1/jobs/\(job)/events", by: "anna", .customer)
                #expect(answer.status == 200 && answer.headers["content-type"] == "text/event-stream", "\(answer)")
                #expect(answer.headers["content-length"] == nil && answer.text.isEmpty, "\(answer)")
                #expect(answer.headers["cache-control"] == "no-store, no-transform", "\(answer)")
            }
        }
    }

    @Test func `a stream sends the whole state, then every change with the id to resume from, then the end`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                let stream = try await EventStreamReader.open(gateway, job, by: "anna", .customer)
                #expect(stream.status == 200 && stream.headers["content-type"] == "text/event-stream")
                #expect(stream.headers["cache-control"] == "no-store, no-transform")
                #expect(stream.headers["connection"] == "close")
                let retry = try await stream.next()
                #expect(EventStream.retryMilliseconds.contains(Int64(retry?.retry ?? 0)))
                let welcome = try await stream.next()
                #expect(welcome?.id == nil && welcome?.data.hasPrefix(#"{"type":"welcome""#) == true)
                let first = try #require(try await stream.next())
                guard case .subscribed(job, let snapshot)? = first.message else {
                    Issue.record("\(first)")
                    return
                }
                #expect(snapshot.status == .onTheWay && first.id == "\(snapshot.epoch).\(snapshot.id)")

                try await gateway.connect("rider-1", .rider) { rider, messages in
                    try await rider.send(.travel(job: job, active: true))
                    _ = try await messages.travelAnswer()
                    try await rider.report(job, step: 1)
                    let location = try await stream.first { message in
                        if case .location(let location) = message { location } else { nil }
                    }
                    #expect(location.job == job && stream.lastEventID == first.id)
                }
                _ = try await gateway.ledger.publish(
                    .workInProgress, of: job, by: PersonID("service")!, source: "event"
                ).get()
                let status = try await stream.first { message in
                    if case .status(_, let event) = message { event } else { nil }
                }
                #expect(status.previous == snapshot.id && stream.lastEventID == "\(status.epoch).\(status.id)")
                _ = try await gateway.ledger.publish(.completed, of: job, by: PersonID("service")!, source: "event")
                    .get()
                let end = try await stream.first { message in
                    if case .ended(_, let reason) = message { reason } else { nil }
                }
                #expect(end == .completed)
                let close = try await stream.next()
                #expect(close?.name == "close" && close?.data == #"{"code":1000,"reason":"nothing more to follow"}"#)
                let nothing = try await stream.next()
                #expect(nothing == nil)

                // A browser reconnects automatically, and learns that the stream is complete.
                let again = try await EventStreamReader.open(
                    gateway, job, by: "anna", .customer, lastEventID: stream.lastEventID)
                #expect(again.status == 204)
                let other = try await EventStreamReader.open(gateway, job, by: "anna", .customer)
                let whole = try await other.first { message in
                    if case .subscribed(_, let snapshot) = message { snapshot } else { nil }
                }
                #expect(other.status == 200 && whole.status == .completed)
            }
        }
    }

    @Test func `a reconnecting stream receives the missed events, or the whole state if its id is unknown`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                let stream = try await EventStreamReader.open(gateway, job, by: "anna", .customer)
                _ = try await stream.first { if case .subscribed = $0 { true } else { nil } }
                stream.finish()
                try await gateway.waitForSessions(0)
                let missed = try await gateway.ledger.publish(
                    .workInProgress, of: job, by: PersonID("service")!, source: "event"
                ).get()
                guard case .published(let event) = missed else {
                    Issue.record("\(missed)")
                    return
                }
                // The connection has carried another request before, as a browser's connection would.
                let back = try await EventStreamReader.open(
                    gateway, job, by: "anna", .customer, lastEventID: stream.lastEventID, after: "/api/v1/texts")
                let snapshot = try await back.first { message in
                    if case .subscribed(_, let snapshot) = message { snapshot } else { nil }
                }
                #expect(snapshot.missed == [event])
                let outdated = try await EventStreamReader.open(
                    gateway, job, by: "anna", .customer, lastEventID: "other-epoch.1-1")
                let reset = try await outdated.first { message in
                    if case .reset(_, let snapshot) = message { snapshot } else { nil }
                }
                #expect(reset.status == .workInProgress && reset.missed.isEmpty)
            }
        }
    }

    @Test func `an unauthorized client is refused before a stream starts`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.limits.sessionsPerPerson = 1 }) { gateway in
                let job = try await gateway.travellingJob()
                func refused(_ authorization: String?, _ id: String? = nil, _ job: JobID = job) async throws -> Int {
                    let answer = try await EventStreamReader.open(
                        gateway, job, authorization: authorization, lastEventID: id)
                    #expect(answer.headers["content-type"] == "application/problem+json")
                    #expect(answer.body.contains(#""type":"urn:enroute:problem:"#))
                    return answer.status
                }
                let anna = "Bearer \(try await gateway.token("anna", .customer))"
                let statuses = [
                    try await refused(nil), try await refused("Bearer x"), try await refused("Link nothing"),
                    try await refused("Link \(String(repeating: "0", count: 32))"),
                    try await refused("Bearer \(try await gateway.token("bert", .customer))"),
                    try await refused(anna, nil, JobID("none")!), try await refused(anna, "what is this"),
                ]
                #expect(statuses == [401, 401, 401, 401, 404, 404, 400])
                let stream = try await EventStreamReader.open(gateway, job, authorization: anna)
                _ = try await stream.first { if case .subscribed = $0 { true } else { nil } }
                let second = try await EventStreamReader.open(gateway, job, authorization: anna)
                #expect(second.status == 429 && second.isRetriedAfterTheLimit, "\(second.body)")
            }
        }
    }

    @Test func `a link viewer's stream holds a viewer lease and releases it at the end`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                let made = try await gateway.rest(
                    "POST", "/api/v1/jobs/\(job)/links", by: "orders", .service, #"{"viewers":1}"#)
                let secret: String = try #require(made.member("link"))
                let stream = try await EventStreamReader.open(gateway, job, authorization: "Link \(secret)")
                let snapshot = try await stream.first { message in
                    if case .subscribed(_, let snapshot) = message { snapshot } else { nil }
                }
                #expect(snapshot.status == .onTheWay)
                let full = try await EventStreamReader.open(gateway, job, authorization: "Link \(secret)")
                #expect(full.status == 429 && full.isRetriedAfterTheLimit, "\(full.body)")
                let other = try await EventStreamReader.open(
                    gateway, try await gateway.travellingJob("job-2"), authorization: "Link \(secret)")
                #expect(other.status == 429 || other.status == 404)
                stream.finish()
                let isFree = try await eventually {
                    let next = try await EventStreamReader.open(gateway, job, authorization: "Link \(secret)")
                    return next.status == 200
                }
                #expect(isFree)
            }
        }
    }

    @Test func `a revoked stream ends, and a stopping gateway sends the time to reconnect`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                let anna = try await EventStreamReader.open(gateway, job, by: "anna", .customer)
                let rider = try await EventStreamReader.open(gateway, job, by: "rider-1", .rider)
                for stream in [anna, rider] {
                    _ = try await stream.first { if case .subscribed = $0 { true } else { nil } }
                }
                let revoked = try await gateway.rest("DELETE", "/api/v1/grants/users/anna", by: "orders", .service)
                #expect(revoked.status == 204)
                var close: EventStreamReader.Event?
                while let event = try await anna.next() { close = event }
                #expect(close?.name == "close" && close?.data.contains(#""code":4502"#) == true)

                gateway.drain()
                var last: [EventStreamReader.Event] = []
                while let event = try await rider.next() { last.append(event) }
                let leaving = try #require(last.first { $0.message.isGoaway })
                #expect(leaving.retry != nil && last.last?.data.contains(#""code":4000"#) == true)
            }
        }
    }
}

extension ServerMessage? {
    fileprivate var isGoaway: Bool { if case .goaway = self { true } else { false } }
}

extension EventStreamReader {
    /// The answer asks for the next attempt when an earlier session of the client has ended, as close code 4009 does.
    fileprivate var isRetriedAfterTheLimit: Bool {
        self.headers["content-type"] == "application/problem+json" && self.headers["retry-after"] == "40"
            && self.body.contains(#""code":"limit_exceeded""#) && self.body.contains(#""retryable":true"#)
    }
}
