// Tests of travel mode with a simulated gateway: what is resumed on the next connection, and what is forgotten.

import Foundation
import Testing

@testable import Enroute

@Suite struct TravelTests {
    private static let job: JobID = "visit-1"

    private func start(_ client: inout PlayedClient, _ job: JobID = TravelTests.job) -> Int {
        var request = 0
        client.change { request = $0.switchTravel(job, isActive: true, resumes: false, at: $1) }
        return request
    }

    /// A rider who travels, and whose connection was lost and opened again.
    private func reconnected(_ jobs: JobID...) -> PlayedClient {
        var client = PlayedClient.open()
        for job in jobs {
            let request = self.start(&client, job)
            client.says(#"{"type":"ok","replyTo":"travel","job":"\#(job)","ref":"\#(request)","deadline":5}"#)
        }
        self.reconnect(&client)
        return client
    }

    private func reconnect(_ client: inout PlayedClient) {
        client.closes(1006)
        client.pass(3_000)
        client.welcome()
    }

    private func resumptions(_ client: PlayedClient) -> [String] {
        client.sent("travel").filter { $0.contains(#""resume":true"#) }
    }

    /// The gateway refuses the last message of this type.
    private func refuse(_ client: inout PlayedClient, _ type: String, _ code: String, retry: Bool = false) {
        let ref = client.sent(type).last?.firstMatch(of: /"ref":"(\d+)"/).map { #","ref":"\#($0.1)""# } ?? ""
        client.says(
            #"{"type":"error","replyTo":"\#(type)","job":"visit-1"\#(ref),"code":"\#(code)","message":"no","retry":\#(retry)}"#
        )
    }

    @Test func `a journey is resumed on each new connection`() {
        var client = self.reconnected(Self.job)
        self.reconnect(&client)
        #expect(self.resumptions(client).count == 2 && client.outcomes.isEmpty)
    }

    @Test(arguments: ["travel_mode_off", "other_device", "illegal_transition", "not_found", "forbidden"])
    func `a journey that the gateway does not resume is forgotten, and the app learns why`(code: String) {
        var client = self.reconnected(Self.job)
        self.refuse(&client, "travel", code)
        let error = EnrouteError(EnrouteError.Code(rawValue: code), "no")
        #expect(client.outcomes == [.refused(Self.job, error)])
        self.reconnect(&client)
        #expect(self.resumptions(client).count == 1)
    }

    @Test func `a resumption that is refused for the moment is sent again on the next connection`() {
        var client = self.reconnected(Self.job)
        self.refuse(&client, "travel", "unavailable", retry: true)
        self.reconnect(&client)
        #expect(self.resumptions(client).count == 2 && client.outcomes.isEmpty)
    }

    @Test func `a dropped resumption is sent again, and nothing is reported until its answer`() {
        var client = self.reconnected(Self.job)
        let at = client.moment.wall
        client.change { $0.report(.at(at), jobs: [Self.job], battery: nil, at: $1) }
        self.refuse(&client, "travel", "rate_limited", retry: true)
        self.refuse(&client, "location", "other_device")
        client.pass(999)
        #expect(self.resumptions(client).count == 1)
        client.pass(1)
        client.pass(5_000)
        #expect(self.resumptions(client).count == 2 && client.sent("location").count == 1 && client.outcomes.isEmpty)
        let ref = self.resumptions(client).last?.firstMatch(of: /"ref":"(\d+)"/)?.1 ?? ""
        client.says(#"{"type":"ok","replyTo":"travel","job":"visit-1","ref":"\#(ref)","deadline":5}"#)
        #expect(client.sent("location").count == 2)
    }

    @Test func `a dropped resumption of a job that is switched off is not sent again`() {
        var client = self.reconnected(Self.job)
        self.refuse(&client, "travel", "rate_limited", retry: true)
        client.change { _ = $0.switchTravel(Self.job, isActive: false, resumes: false, at: $1) }
        client.pass(5_000)
        #expect(self.resumptions(client).count == 1)
    }

    @Test(arguments: ["travel_mode_off", "other_device"])
    func `a journey is forgotten when a location is refused because this device does not report`(code: String) {
        var client = self.reconnected(Self.job)
        let request = self.start(&client)
        client.says(#"{"type":"ok","replyTo":"travel","job":"visit-1","ref":"\#(request)","deadline":5}"#)
        let at = client.moment.wall
        client.change { $0.report(.at(at), jobs: [Self.job], battery: nil, at: $1) }
        self.refuse(&client, "location", code)
        #expect(client.outcomes.count == 1)
        self.reconnect(&client)
        #expect(self.resumptions(client).count == 1 && client.sent("location").count == 1)
    }

    @Test func `while another device reports, nothing is sent for its jobs until travel mode is switched on`() {
        var client = self.reconnected(Self.job, "visit-2")
        for (job, ref) in zip(
            [Self.job, "visit-2"], client.sent("travel").suffix(2).compactMap { $0.firstMatch(of: /"ref":"(\d+)"/)?.1 })
        {
            client.says(#"{"type":"ok","replyTo":"travel","job":"\#(job)","ref":"\#(ref)","deadline":5}"#)
        }
        func report(_ jobs: JobID...) {
            let at = client.moment.wall
            client.change { $0.report(.at(at), jobs: jobs, battery: nil, at: $1) }
            client.pass(1_000)
        }
        report(Self.job, "visit-2")
        self.refuse(&client, "location", "other_device")
        for _ in 0..<5 { report(Self.job) }
        #expect(client.sent("location").count == 1 && client.outcomes.count == 1)
        report(Self.job, "visit-2")
        #expect(client.sent("location").last?.contains(#""job":"visit-2""#) == true)
        let request = self.start(&client)
        client.says(#"{"type":"ok","replyTo":"travel","job":"visit-1","ref":"\#(request)","deadline":5}"#)
        report(Self.job)
        #expect(client.sent("location").last?.contains(#""job":"visit-1""#) == true)
    }

    @Test func `after a refused resumption nothing is sent for a job that another device reports`() {
        var client = self.reconnected(Self.job)
        self.refuse(&client, "travel", "other_device")
        let at = client.moment.wall
        client.change { $0.report(.at(at), jobs: [Self.job], battery: nil, at: $1) }
        client.pass(10_000)
        #expect(client.sent("location").isEmpty && client.outcomes.count == 1)
    }

    @Test func `a refused location is older than the request that switches travel mode on now`() {
        var client = PlayedClient.open()
        let at = client.moment.wall
        client.change { $0.report(.at(at), jobs: [Self.job], battery: nil, at: $1) }
        let request = self.start(&client)
        self.refuse(&client, "location", "travel_mode_off")
        client.says(#"{"type":"ok","replyTo":"travel","job":"visit-1","ref":"\#(request)","deadline":5}"#)
        self.reconnect(&client)
        #expect(self.resumptions(client).count == 1)
    }

    @Test func `a refused resumption does not end what the app switches on again meanwhile`() {
        var client = self.reconnected(Self.job)
        let resumption = client.sent("travel").last?.firstMatch(of: /"ref":"(\d+)"/)?.1 ?? ""
        let request = self.start(&client)
        client.says(
            #"{"type":"error","replyTo":"travel","job":"visit-1","ref":"\#(resumption)","code":"travel_mode_off","message":"no","retry":false}"#
        )
        client.says(#"{"type":"ok","replyTo":"travel","job":"visit-1","ref":"\#(request)","deadline":5}"#)
        self.reconnect(&client)
        #expect(client.answers[request] != nil && self.resumptions(client).count == 2)
    }

    @Test func `travel mode that was refused to the app is not switched on later`() {
        var client = PlayedClient.open()
        let request = self.start(&client)
        self.refuse(&client, "travel", "illegal_transition")
        #expect(client.error(of: request)?.code == .illegalTransition && client.outcomes.isEmpty)
        self.reconnect(&client)
        #expect(client.sent("travel").count == 1)
    }

    @Test func `travel mode that was switched on without a connection does not start later`() {
        var client = PlayedClient()
        client.start()
        let request = self.start(&client)
        #expect(client.error(of: request)?.code == .network)
        client.welcome()
        #expect(client.sent("travel").isEmpty)
    }

    @Test func `after a lost answer the client resumes, and forgets what never started`() {
        var client = PlayedClient.open()
        let request = self.start(&client)
        self.reconnect(&client)
        #expect(client.error(of: request)?.code == .network && self.resumptions(client).count == 1)
        self.refuse(&client, "travel", "travel_mode_off")
        self.reconnect(&client)
        #expect(self.resumptions(client).count == 1)
    }

    @Test func `a followed job that ended is not resumed, and others are`() {
        var client = self.reconnected(Self.job, "visit-2")
        client.change { $0.follow(Self.job, viewer: 1, at: $1) }
        client.says(#"{"type":"ended","job":"visit-1","reason":"completed"}"#)
        let before = self.resumptions(client).count
        self.reconnect(&client)
        let resumed = self.resumptions(client).dropFirst(before)
        #expect(before == 2 && resumed.count == 1 && resumed.last?.contains("visit-2") == true)
    }

    @Test func `a forgotten job leaves the readings of the same trip to its other jobs`() throws {
        var queue = FixQueue()
        try queue.add(.at(90_000), jobs: ["a", "b"])
        queue.forget("a")
        let report = queue.next(at: Moment(now: 0, wall: 100_000), clockOffset: 0)
        #expect(report?.jobs == ["b"])
        queue.forget("b")
        queue.disconnected()
        #expect(queue.count == 0)
    }

    @Test func `in the background a job that is refused for good is not resumed in the foreground`() {
        var client = self.reconnected(Self.job)
        let request = self.start(&client)
        client.says(#"{"type":"ok","replyTo":"travel","job":"visit-1","ref":"\#(request)","deadline":5}"#)
        client.connection { connection, _ in connection.suspend() }
        let answer = BatchAnswer(
            accepted: [], held: nil, refused: [.init(job: Self.job, code: "travel_mode_off")], intervalSeconds: nil)
        client.change { $0.posted(.success(answer), sequence: 1, jobs: [Self.job], at: $1) }
        client.connection { $0.wake(at: $1) }
        client.welcome()
        #expect(self.resumptions(client).count == 1)
    }

    @Test func `in the background the refusal of the only job ends its journey too`() {
        for code in [EnrouteError.Code.travelModeOff, .otherDevice] {
            var client = self.reconnected(Self.job)
            let request = self.start(&client)
            client.says(#"{"type":"ok","replyTo":"travel","job":"visit-1","ref":"\#(request)","deadline":5}"#)
            client.connection { connection, _ in connection.suspend() }
            let refused = EnrouteError(code, "It is over.")
            client.change { $0.posted(.failure(refused), sequence: 1, jobs: [Self.job], at: $1) }
            client.connection { $0.wake(at: $1) }
            client.welcome()
            #expect(self.resumptions(client).count == 1 && client.outcomes.last == .refused(Self.job, refused))
        }
    }
}
