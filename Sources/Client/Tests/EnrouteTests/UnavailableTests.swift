// Tests of the reason why a phone has no position, which a gateway forgets with the connection.

import Foundation
import Testing

@testable import Enroute

@Suite struct UnavailableTests {
    private static let job: JobID = "visit-1"

    private func reconnect(_ client: inout PlayedClient) {
        client.closes(1006)
        client.pass(3_000)
        client.welcome()
    }

    @discardableResult
    private func explain(_ client: inout PlayedClient, _ reason: UnavailableReason, _ job: JobID?) -> Int {
        var request = 0
        client.change { request = $0.reportUnavailable(reason, job, at: $1) }
        return request
    }

    /// The reasons that were sent since the last sign-in.
    private func reasons(_ client: PlayedClient) -> [String] {
        let start = client.sent.lastIndex { $0.contains(#""type":"auth""#) } ?? 0
        return client.sent[start...].filter { $0.contains(#""type":"unavailable""#) }
    }

    @Test func `the reason is sent again on each new connection, after travel mode is resumed`() {
        var client = PlayedClient.open()
        client.change { _ = $0.switchTravel(Self.job, isActive: true, resumes: false, at: $1) }
        let request = self.explain(&client, .permissionDenied, Self.job)
        client.says(#"{"type":"ok","replyTo":"unavailable","ref":"\#(request)"}"#)
        #expect((try? client.answers[request]?.get()) != nil)
        for _ in 0..<3 {
            self.reconnect(&client)
            #expect(
                client.sent.suffix(2).map { $0.contains(#""type":"travel""#) } == [true, false]
                    && self.reasons(client) == [
                        #"{"type":"unavailable","job":"visit-1","reason":"permission_denied"}"#
                    ])
        }
    }

    @Test func `the newest reason counts, and those for all jobs are sent before those for single ones`() {
        var client = PlayedClient.open()
        self.explain(&client, .noFix, Self.job)
        self.explain(&client, .servicesDisabled, Self.job)
        self.explain(&client, .hidden, nil)
        self.reconnect(&client)
        #expect(
            self.reasons(client) == [
                #"{"type":"unavailable","reason":"hidden"}"#,
                #"{"type":"unavailable","job":"visit-1","reason":"services_disabled"}"#,
            ])
    }

    @Test func `after a reading, or the end of the trip, the reason is not sent again`() {
        var client = PlayedClient.open()
        for job: JobID? in [Self.job, nil, "visit-2", "visit-3"] { self.explain(&client, .noFix, job) }
        let at = client.moment.wall
        // Receivers report (0, 0) when they have no position.
        client.change { $0.report(.at(at, 0, 0), jobs: ["visit-2"], battery: nil, at: $1) }
        client.change { $0.report(.at(at), jobs: [Self.job], battery: nil, at: $1) }
        client.change { _ = $0.switchTravel("visit-3", isActive: false, resumes: false, at: $1) }
        self.reconnect(&client)
        #expect(self.reasons(client).count == 1 && self.reasons(client)[0].contains("visit-2"))
    }

    @Test func `a reason without a connection is an error, and is sent on the next connection`() {
        var client = PlayedClient()
        client.start()
        let request = self.explain(&client, .permissionDenied, Self.job)
        #expect(client.error(of: request)?.code == .network)
        client.welcome()
        #expect(self.reasons(client).count == 1)
    }

    @Test func `a reason that the gateway refuses is not sent again, unless it may accept it later`() {
        for (code, retry, count) in [("travel_mode_off", false, 0), ("not_found", false, 0), ("unavailable", true, 1)] {
            var client = PlayedClient.open()
            self.explain(&client, .noFix, Self.job)
            client.says(
                #"{"type":"error","replyTo":"unavailable","job":"visit-1","code":"\#(code)","message":"no","retry":\#(retry)}"#
            )
            self.reconnect(&client)
            #expect(self.reasons(client).count == count, "\(code)")
        }
    }
}
