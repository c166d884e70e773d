import EnrouteClient
import EnrouteWire
import LiveState
import Logging
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Arrivals on a gateway whose revocation state is stale. An arrival time reveals where a rider is.
@Suite(.needsMachine(for: .faults)) struct StaleRevocationArrivalTests {
    @Test func `while the revocation state is stale no request returns an arrival time`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { settings in
                ArrivalTimesTests.settings(&settings)
                settings.maxRevocationAge = .seconds(1)
            } _: { gateway in
                let job = try await gateway.travellingJob()
                try await ArrivalTimesTests.trip(gateway, job) { anna, heard, rider in
                    try await rider.report(job, step: 1000)
                    let before = try await heard.knownETA()
                    // The revocation stream cannot be read, but all other keys can.
                    _ = try await gateway.client.run("SET", gateway.settings.liveState.keyspace.control, "blind")
                    _ = try await heard.first { if case .degraded = $0 { true } else { nil } }
                    try await rider.report(job, step: 999)
                    // The arrival is calculated and stored until it may be sent.
                    try await becomes("another arrival was calculated") {
                        try await gateway.feed.read(job).get().eta?.at ?? 0 > before.at
                    }
                    let read = try await gateway.rest("GET", "/api/v1/jobs/\(job)", by: "anna", .customer)
                    #expect(read.status == 200 && !read.text.contains(#""eta""#), "\(read)")
                    try await gateway.connect("olga", .ops) { olga, messages in
                        try await olga.send(.subscribe(job: job, since: nil))
                        let snapshot = try await messages.subscribed()
                        #expect(snapshot.eta == nil && snapshot.position == nil)
                        try await anna.send(.ping)
                        let isWithheld = try await heard.first { message -> Bool? in
                            switch message {
                            case .pong: true
                            case .eta, .location: false
                            default: nil
                            }
                        }
                        #expect(isWithheld)
                        _ = try await gateway.client.run("DEL", gateway.settings.liveState.keyspace.control)
                        let (hers, olgas) = (try await heard.knownETA(), try await messages.knownETA())
                        #expect(hers.at > before.at && olgas.at > before.at)
                    }
                }
            }
        }
    }

    @Test func `an arrival time held back while the revocation state is stale is sent afterwards`() async throws {
        let (waiting, hear) = AsyncStream.makeStream(of: String.self)
        let logger = Logger(label: "test") { _ in
            WithheldArrivals { if $0 == ArrivalState.recalculating.rawValue { hear.yield($0) } }
        }
        try await within {
            try await RunningGateway.run(isSecure: false, logger: logger) { settings in
                ArrivalTimesTests.settings(&settings)
                settings.maxRevocationAge = .seconds(1)
                settings.freshness = .seconds(4)
            } _: { gateway in
                let job = try await gateway.travellingJob()
                try await ArrivalTimesTests.trip(gateway, job) { _, heard, rider in
                    try await rider.report(job, step: 1000)
                    _ = try await heard.knownETA()
                    _ = try await gateway.client.run("SET", gateway.settings.liveState.keyspace.control, "blind")
                    _ = try await heard.first { if case .degraded = $0 { true } else { nil } }
                    // The rider becomes silent, so the arrival becomes uncertain on this gateway alone.
                    _ = try await heard.first { message -> Bool? in
                        if case .eta(_, let estimate) = message { #expect(estimate.state != .recalculating) }
                        if case .tracking(_, .stale, _) = message { return true }
                        return nil
                    }
                    // The job was checked, and its estimate waits.
                    _ = await waiting.first { _ in true }
                    _ = try await gateway.client.run("DEL", gateway.settings.liveState.keyspace.control)
                    let doubtful = try await heard.eta()
                    #expect(doubtful.state == .recalculating)
                }
            }
        }
    }
}

/// Reports the state of each arrival that is withheld.
private struct WithheldArrivals: LogHandler {
    let take: @Sendable (String) -> Void
    var logLevel = Logger.Level.trace
    var metadata: Logger.Metadata = [:]

    init(_ take: @escaping @Sendable (String) -> Void) { self.take = take }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        guard event.message == "arrival time suppressed; revocation state is stale",
            let state = event.metadata?["reason"]
        else { return }
        self.take("\(state)")
    }
}
