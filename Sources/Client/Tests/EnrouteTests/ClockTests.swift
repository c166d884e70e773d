// Tests of a device whose clock is corrected while the client runs, with a simulated gateway.

import Foundation
import Testing

@testable import Enroute

@Suite struct ClockTests {
    private static let job: JobID = "visit-1"

    /// Reports a reading of the current time, by the device's clock.
    private func report(_ client: inout PlayedClient) {
        let at = client.moment.wall
        client.change { $0.report(.at(at), jobs: [Self.job], battery: nil, at: $1) }
    }

    /// The error of the times in a report, in ms.
    private func error(_ report: ReportedFix?, _ client: PlayedClient) -> Double {
        report.map { abs(Double($0.at) - client.gatewayTime) } ?? .infinity
    }

    @Test(arguments: [1_200_000.0, -1_200_000, 3_600_000, -5_000])
    func `after the phone's clock was set, reports are right within 10 s although messages keep arriving`(jump: Double)
    {
        var client = PlayedClient.open()
        client.answersPings = true
        client.pass(3_000)
        client.setClock(by: jump)
        var wrong = 0
        for second in 1...60 {
            self.report(&client)
            let at = client.sent("location").last?.firstMatch(of: /"at":(\d+)/).flatMap { Double($0.1) } ?? 0
            if abs(at - client.gatewayTime) > FixQueue.clockTolerance { wrong += 1 }
            client.says(#"{"type":"ok","replyTo":"location","job":"visit-1","seq":\#(second)}"#)
            client.pass(1_000)
        }
        #expect(client.sent("location").count == 60)
        #expect(wrong <= 10 && client.sent("ping").count == 1)
    }

    @Test func `a clock that is not set causes no pings, and a second change is noticed too`() {
        var client = PlayedClient.open()
        client.answersPings = true
        func listen(_ seconds: Int) {
            for _ in 0..<seconds {
                client.says(#"{"type":"rate","intervalSeconds":1}"#)
                client.pass(1_000)
            }
        }
        listen(60)
        client.setClock(by: 1_500)
        listen(60)
        #expect(client.sent("ping").isEmpty)
        for (count, jump) in [(1, 60_000.0), (2, -60_000)] {
            client.setClock(by: jump)
            listen(60)
            #expect(client.sent("ping").count == count)
            #expect(abs(client.machine.connection.clock.offset - (client.gatewayTime - client.moment.wall)) < 1)
        }
    }

    @Test func `a clock that is set while a ping is on its way is measured again`() {
        var client = PlayedClient.open()
        client.pass(20_000)
        #expect(client.sent("ping").count == 1)
        client.setClock(by: 900_000)
        client.says(#"{"type":"pong","serverTime":\#(Int(client.gatewayTime))}"#)
        client.answersPings = true
        client.pass(10_000)
        #expect(client.sent("ping").count == 2)
        #expect(abs(client.machine.connection.clock.offset + 900_000) < 1)
    }

    /// A client in the background whose first report is on its way. Its clock was set before.
    private func background(_ jump: Double) -> PlayedClient {
        var client = PlayedClient.open()
        client.connection { connection, _ in connection.suspend() }
        client.setClock(by: jump)
        self.report(&client)
        return client
    }

    @Test(arguments: [900_000.0, -900_000])
    func `in the background the gateway's time in a refusal corrects the next report`(jump: Double) {
        var client = self.background(jump)
        #expect(self.error(client.posts.last?.fixes.first, client) == abs(jump))
        var refusal = EnrouteError(jump > 0 ? .futurePosition : .stalePosition, "no")
        refusal.serverTime = client.gatewayTime
        client.change { $0.posted(.failure(refusal), sequence: 1, jobs: [Self.job], at: $1) }
        client.pass(1_000)
        self.report(&client)
        #expect(client.posts.count == 2 && self.error(client.posts.last?.fixes.first, client) < 1)
    }

    @Test(arguments: [900_000.0, -900_000])
    func `in the background the gateway's time in an answer corrects the next report`(jump: Double) {
        var client = self.background(jump)
        let answer = BatchAnswer(
            accepted: [], held: nil, refused: [.init(job: Self.job, code: "future_position")], intervalSeconds: nil,
            serverTime: client.gatewayTime)
        client.change { $0.posted(.success(answer), sequence: 1, jobs: [Self.job], at: $1) }
        client.pass(1_000)
        self.report(&client)
        #expect(client.posts.count == 2 && self.error(client.posts.last?.fixes.first, client) < 1)
    }

    @Test(arguments: [0.0, 7_000, 14_000])
    func `a slow answer over REST does not change a clock that is right`(serverTimeAfter: Double) {
        var client = self.background(0)
        let answer = BatchAnswer(
            accepted: [Self.job], held: nil, refused: nil, intervalSeconds: nil,
            serverTime: client.gatewayTime + serverTimeAfter)
        client.pass(14_000)
        client.change { $0.posted(.success(answer), sequence: 1, jobs: [Self.job], at: $1) }
        #expect(client.machine.connection.clock.offset == 0)
    }
}
