import Testing

@testable import EnrouteWire

@Suite struct ClientRequestTests {
    private func request(_ json: String) throws -> ClientRequest {
        try Array(json.utf8).withUnsafeBytes { try ClientRequest($0) }
    }

    private func outline(_ json: String) -> MessageOutline {
        Array(json.utf8).withUnsafeBytes { MessageOutline($0) }
    }

    @Test(arguments: ["1", "a name with spaces", #"\"\\"#, "ä€🚲", String(repeating: "é", count: 64)])
    func `a ref of 1 to 64 characters is repeated unchanged`(ref: String) throws {
        let sent = ClientRequest(.subscribe(job: .job7, since: nil), ref: MessageRef(ref))
        #expect(sent.ref != nil)
        let text = String(decoding: sent.encoded, as: UTF8.self)
        #expect(try self.request(text) == sent)
        let answer = ServerMessage.ok(replyTo: "subscribe", job: nil, sequence: nil, deadline: nil, ref: sent.ref)
        #expect(try serverMessage(String(decoding: answer.encoded, as: UTF8.self)) == answer)
    }

    @Test(arguments: [#""""#, "7", "[]", #""\#(String(repeating: "x", count: 65))""#, #""a","ref":"b""#])
    func `an invalid ref is refused`(ref: String) {
        #expect(refusal { _ = try self.request(#"{"type":"ping","ref":\#(ref)}"#) } != nil)
    }

    @Test func `a location report that is queued keeps its ref`() throws {
        let json =
            #"{"ref":"r","type":"location","job":"job-7","seq":1,"fixes":[{"at":1795248617626,"lat":1,"lon":2}]}"#
        guard case .location(let report) = try self.request(json).message else {
            Issue.record("no report")
            return
        }
        #expect(report.ref == MessageRef("r"))
    }

    @Test func `the outline of a malformed message contains the members that could be read`() {
        let whole = self.outline(#"{"type":"subscribe","job":"job-7","zone":"z","ref":"r","since":5}"#)
        #expect(whole.type == "subscribe" && whole.job == .job7 && whole.zone == ZoneID("z"))
        #expect(whole.ref == MessageRef("r"))
        #expect(
            self.outline(#"{"type":"subscribe","job":"not a job","ref":7}"#) == self.outline(#"{"type":"subscribe"}"#))
        #expect(self.outline(#"{"job":"job-7","type":"subscribe","since":{"#).type == "subscribe")
        for nothing in ["", "[]", "{", "null", #"{"type":"other"}"#, #"{"type":5"#] {
            #expect(self.outline(nothing) == MessageOutline(), "\(nothing)")
        }
    }

    @Test func `one subscribe contains up to 100 jobs, each with or without since`() throws {
        let since = ResumePoint(epoch: "e", id: StatusID("5-1")!)
        let jobs = [Subscription(job: .job7), Subscription(job: JobID("b")!, since: since)]
        #expect(
            try clientMessage(#"{"type":"subscribe","jobs":["job-7",{"job":"b","since":{"epoch":"e","id":"5-1"}}]}"#)
                == .subscribeAll(jobs))
        let written = String(decoding: ClientMessage.subscribeAll(jobs).encoded, as: UTF8.self)
        #expect(try clientMessage(written) == .subscribeAll(jobs))
        let names = { (count: Int) in (0..<count).map { #""j\#($0)""# }.joined(separator: ",") }
        _ = try clientMessage(#"{"type":"subscribe","jobs":[\#(names(Limits.subscribeJobs))]}"#)
        for bad in [
            #""jobs":[\#(names(Limits.subscribeJobs + 1))]"#, #""jobs":[]"#, #""jobs":["a"],"job":"b""#,
            #""jobs":["a"],"since":{"epoch":"e","id":"5-1"}"#, #""jobs":[5]"#, #""jobs":[{}]"#,
        ] {
            #expect(refusal { _ = try clientMessage(#"{"type":"subscribe",\#(bad)}"#) } != nil, "\(bad)")
        }
    }

    @Test func `the limits of a welcome survive encoding, and missing ones have defaults`() throws {
        var limits = Limits()
        (limits.messagesPerSecond, limits.messagesBurst, limits.subscriptions) = (7, 8, 200)
        let welcome = ServerMessage.welcome(
            Welcome(session: "s", serverTime: 1, pingIntervalSeconds: 25, limits: limits))
        #expect(try serverMessage(String(decoding: welcome.encoded, as: UTF8.self)) == welcome)
        let old = try serverMessage(
            #"{"type":"welcome","session":"s","serverTime":1,"pingIntervalSeconds":25,"limits":{"subscriptions":9}}"#)
        guard case .welcome(let said) = old else {
            Issue.record("no welcome")
            return
        }
        #expect(said.limits.subscriptions == 9 && said.limits.messagesBurst == Limits().messagesBurst)
    }
}
