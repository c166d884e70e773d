import Access
import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import Push
import TestSupport
import Testing
import Webhooks

@testable import Gateway
@testable import Realtime

/// Browsers that are notified when a rider is near, with the test's own push service.
@Suite(.serialized) struct PushTests {
    /// Runs a gateway whose push services are all on this machine.
    private static func run(
        allowed: [AddressRange] = [AddressRange("127.0.0.0/8")!], at addresses: [String] = ["127.0.0.1"],
        answers: @escaping ProviderServer.Behaviour = { _ in .json("{}", status: 201) },
        _ body: @escaping @Sendable (RunningGateway, ProviderServer) async throws -> Void
    ) async throws {
        try await within {
            try await LocalPushService.run(allowed: allowed, at: addresses, answers: answers) { push, service in
                try await RunningGateway.run(isSecure: false) { settings in
                    ArrivalTimesTests.settings(&settings)
                    settings.push = push
                    (settings.limits.requestsPerPersonPerSecond, settings.limits.requestsPerPersonBurst) =
                        (1_000_000, 1_000_000)
                } _: {
                    try await body($0, service)
                }
            }
        }
    }

    private static func stored(_ gateway: RunningGateway) -> PushSubscriptions {
        PushSubscriptions(live: gateway.client, settings: gateway.settings.liveState)
    }

    private static func body(
        _ browser: TestBrowser, _ service: ProviderServer, path: String = "1", near: Bool = true
    ) -> String {
        #"{"subscription":{"endpoint":"https://push.invalid:\#(service.port)/\#(path)","keys":"#
            + #"{"p256dh":"\#(browser.p256dh)","auth":"\#(browser.auth)"}},"near":\#(near)}"#
    }

    private static func subscribe(
        _ browser: TestBrowser, _ gateway: RunningGateway, _ service: ProviderServer, path: String = "1",
        near: Bool = true, by person: String = "anna", _ role: Access.Role = .customer
    ) async throws -> (status: Int, text: String) {
        let answer = try await gateway.rest(
            "PUT", "/api/v1/jobs/job-1/push", by: person, role, Self.body(browser, service, path: path, near: near))
        return (answer.status, answer.text)
    }

    @Test func `a browser is notified once, two minutes before the rider arrives, and the message names only the job`()
        async throws
    {
        try await Self.run { gateway, service in
            let (job, browser) = (try await gateway.travellingJob(), TestBrowser())
            let answer = try await Self.subscribe(browser, gateway, service)
            #expect(answer.status == 200 && answer.text == #"{"job":"job-1","near":true}"#)
            try await gateway.connect("rider-1", .rider) { rider, answers in
                try await rider.send(.travel(job: job, active: true))
                _ = try await answers.travelAnswer()
                // 5.5 km away, then 110 m.
                try await rider.report(job, step: 5_000)
                _ = try await gateway.eventually("/metrics") { $0.text.contains(#"verdict="accepted"} 1"#) }
                #expect(service.questions.isEmpty)
                try await rider.report(job, step: 100)
                _ = try await gateway.eventually("/metrics") {
                    $0.text.contains(#"enroute_push_messages_total{outcome="sent"} 1"#)
                }
            }
            let request = try #require(service.questions.first)
            #expect(service.questions.count == 1 && request.method == "POST" && request.uri == "/1")
            #expect(request.headers["content-encoding"] == ["aes128gcm"] && request.headers["ttl"] == ["300"])
            #expect(request.headers["authorization"].first?.hasPrefix("vapid t=") == true)
            let message = try browser.read(request.body)
            #expect(message.wholeMatch(of: /\{"type":"near","job":"job-1","seconds":\d+\}/) != nil, "\(message)")
            #expect(try await Self.stored(gateway).take(from: job).get() == [])
        }
    }

    @Test func `a removed browser is not notified, and a stranger cannot remove one`() async throws {
        try await Self.run { gateway, service in
            let (job, browser) = (try await gateway.travellingJob(), TestBrowser())
            #expect(try await Self.subscribe(browser, gateway, service).status == 200)
            let byStranger = try await Self.subscribe(browser, gateway, service, near: false, by: "bert")
            #expect(byStranger.status == 404)
            #expect(try await Self.stored(gateway).exist(for: job).get())
            #expect(
                try await Self.subscribe(browser, gateway, service, near: false).text
                    == #"{"job":"job-1","near":false}"#)
            #expect(try await Self.stored(gateway).take(from: job).get() == [])
        }
    }

    @Test func `a former customer removes their own browser, also repeatedly, and not the new customer's`() async throws
    {
        try await Self.run { gateway, service in
            let (job, own, other) = (try await gateway.travellingJob(), TestBrowser(), TestBrowser())
            #expect(try await Self.subscribe(own, gateway, service, path: "own").status == 200)
            try await Self.lose(.jobHasAnotherCustomer, link: "", gateway)
            #expect(try await Self.subscribe(other, gateway, service, path: "other", by: "bert").status == 200)
            for _ in 0..<2 {
                let removed = try await Self.subscribe(own, gateway, service, path: "own", near: false)
                #expect(removed.status == 200 && removed.text == #"{"job":"job-1","near":false}"#, "\(removed)")
            }
            #expect(try await Self.subscribe(other, gateway, service, path: "other", near: false).status == 404)
            #expect(try await Self.stored(gateway).read(of: job).get().count == 1)
            #expect(try await Self.subscribe(own, gateway, service, path: "own").status == 404)
        }
    }

    @Test func `a push service that fails is tried again, and one without the subscription is not`() async throws {
        let failures = Failures()
        let answers: ProviderServer.Behaviour = { question in
            if question.uri == "/gone" { return .json("{}", status: 410) }
            return .json("{}", status: failures.next() < 2 ? 503 : 201)
        }
        try await Self.run(answers: answers) { gateway, service in
            let job = try await gateway.travellingJob()
            for path in ["gone", "slow"] {
                #expect(try await Self.subscribe(TestBrowser(), gateway, service, path: path).status == 200)
            }
            try await gateway.connect("rider-1", .rider) { rider, answers in
                try await rider.send(.travel(job: job, active: true))
                _ = try await answers.travelAnswer()
                try await rider.report(job, step: 100)
                _ = try await gateway.eventually("/metrics") {
                    $0.text.contains(#"enroute_push_messages_total{outcome="sent"} 1"#)
                        && $0.text.contains(#"enroute_push_messages_total{outcome="gone"} 1"#)
                }
            }
            let attempts = Dictionary(service.questions.map { ($0.uri, 1) }, uniquingKeysWith: +)
            #expect(attempts["/gone"] == 1 && attempts["/slow"] == 3)
        }
    }

    private final class Failures: @unchecked Sendable {
        private let lock = NSLock()
        private var count = 0
        func next() -> Int {
            self.lock.withLock {
                defer { self.count += 1 }; return self.count
            }
        }
    }

    /// Ways to lose access between the subscription and the rider's arrival.
    enum Loss: CaseIterable {
        case personIsRevoked, linkIsRevoked, linkIsDeleted, jobHasAnotherCustomer
    }

    @Test(arguments: Loss.allCases)
    func `a browser whose customer has lost access is not notified`(loss: Loss) async throws {
        try await Self.run { gateway, service in
            let (job, browser) = (try await gateway.travellingJob(), TestBrowser())
            let made = try await gateway.rest("POST", "/api/v1/jobs/job-1/links", by: "anna", .customer)
            let secret = String(try #require(made.text.firstMatch(of: /"link":"([0-9a-f]{32})"/)).1)
            let id = String(try #require(made.text.firstMatch(of: /"id":"([0-9a-f]{32})"/)).1)
            let isByLink = [.linkIsRevoked, .linkIsDeleted].contains(loss)
            let answer =
                isByLink
                ? try await gateway.rest(
                    "PUT", "/api/v1/jobs/job-1/push", as: nil, Self.body(browser, service),
                    headers: ["Authorization: Link \(secret)"])
                : try await gateway.rest(
                    "PUT", "/api/v1/jobs/job-1/push", by: "anna", .customer, Self.body(browser, service))
            #expect(answer.status == 200, "\(answer.text)")
            try await Self.lose(loss, link: id, gateway)
            try await gateway.connect("rider-1", .rider) { rider, answers in
                try await rider.send(.travel(job: job, active: true))
                _ = try await answers.travelAnswer()
                try await rider.report(job, step: 100)
                try await gateway.waitForMetric(#"enroute_push_messages_total{outcome="refused"} 1"#)
            }
            #expect(service.questions.isEmpty)
        }
    }

    @Test(arguments: Loss.allCases)
    func `browsers whose customer has lost access leave their places to others`(loss: Loss) async throws {
        try await Self.run { gateway, service in
            _ = try await gateway.travellingJob()
            let made = try await gateway.rest("POST", "/api/v1/jobs/job-1/links", by: "anna", .customer)
            let secret: String = try #require(made.member("link"))
            let id: String = try #require(made.member("id"))
            let isByLink = [.linkIsRevoked, .linkIsDeleted].contains(loss)
            func subscribe(_ number: Int, by person: String = "anna") async throws -> Int {
                let body = Self.body(TestBrowser(), service, path: "\(number)")
                guard isByLink else {
                    return try await gateway.rest("PUT", "/api/v1/jobs/job-1/push", by: person, .customer, body).status
                }
                let header = "Authorization: Link \(secret)"
                return try await gateway.rest("PUT", "/api/v1/jobs/job-1/push", as: nil, body, headers: [header]).status
            }
            let most = Int(isByLink ? PushSubscriptions.mostByLink : PushSubscriptions.most)
            for number in 1...most { #expect(try await subscribe(number) == 200) }
            #expect(try await subscribe(0) == 429)
            #expect(try await Self.stored(gateway).read(of: JobID("job-1")!).get().count == most)
            try await Self.lose(loss, link: id, gateway)
            let next = try await Self.anotherSubscription(after: loss, gateway, service)
            #expect(next.status == 200, "\(next)")
            #expect(try await Self.stored(gateway).read(of: JobID("job-1")!).get().count == 1)
        }
    }

    /// The answer to a browser that asks after the loss, in the same way: with another link, or as the job's customer.
    private static func anotherSubscription(
        after loss: Loss, _ gateway: RunningGateway, _ service: ProviderServer
    ) async throws -> RESTResponse {
        let (path, body) = ("/api/v1/jobs/job-1/push", Self.body(TestBrowser(), service, path: "next"))
        switch loss {
        case .personIsRevoked, .linkIsRevoked, .linkIsDeleted:
            let link: String = try #require(
                try await gateway.rest("POST", "/api/v1/jobs/job-1/links", by: "orders", .service).member("link"))
            return try await gateway.rest("PUT", path, as: nil, body, headers: ["Authorization: Link \(link)"])
        case .jobHasAnotherCustomer: return try await gateway.rest("PUT", path, by: "bert", .customer, body)
        }
    }

    private static func lose(_ loss: Loss, link: String, _ gateway: RunningGateway) async throws {
        let settings = gateway.settings.liveState
        let (log, actor) = (RevocationLog(ledger: gateway.client, settings: settings), PersonID("ops-1")!)
        switch loss {
        case .personIsRevoked: _ = try await log.revoke(.user(PersonID("anna")!), by: actor, because: "a test").get()
        case .linkIsRevoked: _ = try await log.revoke(.link(link), by: actor, because: "a test").get()
        case .linkIsDeleted:
            #expect(try await TrackingLinks(ledger: gateway.client, settings: settings).revoke(link).get())
        case .jobHasAnotherCustomer:
            let change = try await gateway.rest(
                "PUT", "/api/v1/jobs/job-1/assignment", by: "orders", .service, #"{"customer":"bert"}"#)
            #expect(change.status == 200, "\(change.text)")
        }
        guard [.personIsRevoked, .linkIsRevoked].contains(loss) else { return }
        try await gateway.waitForMetric("enroute_revocations_applied_total 1")
    }

    @Test(arguments: [false, true])
    func `I1: a browser is notified although its link has expired, unless the link was revoked`(isRevoked: Bool)
        async throws
    {
        try await Self.run { gateway, service in
            let job = try await gateway.travellingJob()
            let made = try await gateway.rest(
                "POST", "/api/v1/jobs/job-1/links", by: "anna", .customer, #"{"expiresInSeconds":10}"#)
            let secret = String(try #require(made.text.firstMatch(of: /"link":"([0-9a-f]{32})"/)).1)
            let id = String(try #require(made.text.firstMatch(of: /"id":"([0-9a-f]{32})"/)).1)
            let answer = try await gateway.rest(
                "PUT", "/api/v1/jobs/job-1/push", as: nil, Self.body(TestBrowser(), service),
                headers: ["Authorization: Link \(secret)"])
            #expect(answer.status == 200, "\(answer.text)")
            if isRevoked { try await Self.lose(.linkIsRevoked, link: id, gateway) }
            let links = TrackingLinks(ledger: gateway.client, settings: gateway.settings.liveState)
            try await becomes("the link has expired") { try await links.read(id).get() == nil }
            try await gateway.connect("rider-1", .rider) { rider, answers in
                try await rider.send(.travel(job: job, active: true))
                _ = try await answers.travelAnswer()
                try await rider.report(job, step: 100)
                try await gateway.waitForMetric(
                    #"enroute_push_messages_total{outcome="\#(isRevoked ? "refused" : "sent")"} 1"#)
            }
            #expect(service.questions.count == (isRevoked ? 0 : 1))
        }
    }

    @Test func `a message goes to another address of the push service if the first one refuses the connection`()
        async throws
    {
        try await Self.run(at: ["127.0.0.2", "127.0.0.1"]) { gateway, service in
            let (job, browser) = (try await gateway.travellingJob(), TestBrowser())
            #expect(try await Self.subscribe(browser, gateway, service).status == 200)
            try await gateway.connect("rider-1", .rider) { rider, answers in
                try await rider.send(.travel(job: job, active: true))
                _ = try await answers.travelAnswer()
                try await rider.report(job, step: 100)
                try await gateway.waitForMetric(#"enroute_push_messages_total{outcome="sent"} 1"#)
            }
            #expect(service.questions.count == 1)
        }
    }

    @Test func `a push service at a private address is not connected to, and not tried again`() async throws {
        try await Self.run(allowed: []) { gateway, service in
            let (job, browser) = (try await gateway.travellingJob(), TestBrowser())
            #expect(try await Self.subscribe(browser, gateway, service).status == 200)
            try await gateway.connect("rider-1", .rider) { rider, answers in
                try await rider.send(.travel(job: job, active: true))
                _ = try await answers.travelAnswer()
                try await rider.report(job, step: 100)
                try await gateway.waitForMetric(#"enroute_push_messages_total{outcome="failed"} 1"#)
            }
            #expect(service.questions.isEmpty)
        }
    }

    @Test func `a browser that has waited for its whole lifetime is not notified, although a later one still waits`()
        async throws
    {
        try await Self.run { gateway, service in
            let (job, late, browser) = (try await gateway.travellingJob(), TestBrowser(), TestBrowser())
            let grant = Grant(
                person: PersonID("anna")!, role: .customer, token: TokenIdentity(id: "t-1", issuedAt: 1_700_000_000))
            let subscription = PushSubscriptions.Subscription(
                endpoint: "https://push.invalid:\(service.port)/late", keys: .init(p256dh: late.p256dh, auth: late.auth)
            )
            let now = Int64(Date.now.timeIntervalSince1970 * 1000)
            #expect(
                try await Self.stored(gateway).add(.init(subscription, by: grant, until: now), to: job, asOf: 0).get()
                    == .added)
            #expect(try await Self.subscribe(browser, gateway, service).status == 200)
            try await gateway.connect("rider-1", .rider) { rider, answers in
                try await rider.send(.travel(job: job, active: true))
                _ = try await answers.travelAnswer()
                try await rider.report(job, step: 100)
                try await gateway.waitForMetric(#"enroute_push_messages_total{outcome="sent"} 1"#)
                try await gateway.waitForMetric(#"enroute_push_messages_total{outcome="refused"} 1"#)
            }
            #expect(service.questions.map(\.uri) == ["/1"])
        }
    }

    @Test func `an erased job leaves no browser behind`() async throws {
        try await Self.run { gateway, service in
            let (job, browser) = (try await gateway.travellingJob(), TestBrowser())
            #expect(try await Self.subscribe(browser, gateway, service).status == 200)
            #expect(try await gateway.rest("DELETE", "/api/v1/jobs/job-1", by: "orders", .service).status == 204)
            #expect(try await !Self.stored(gateway).exist(for: job).get())
        }
    }

    @Test func `a browser that is added while the job is erased is gone with it`() async throws {
        try await Self.run { gateway, service in
            for name in (0..<4).map({ "job-\($0)" }) {
                let job = try await gateway.travellingJob(name)
                let erasing = Task {
                    try await gateway.rest("DELETE", "/api/v1/jobs/\(name)", by: "orders", .service).status
                }
                var last = 200
                while last == 200 || last == 503 {
                    last = try await gateway.rest(
                        "PUT", "/api/v1/jobs/\(name)/push", by: "anna", .customer, Self.body(TestBrowser(), service)
                    ).status
                }
                #expect(last == 404)
                #expect(try await erasing.value == 204)
                #expect(try await !Self.stored(gateway).exist(for: job).get())
            }
        }
    }

    @Test func `only the job's customer is notified, of a job that has not ended, at a valid endpoint`() async throws {
        try await Self.run { gateway, service in
            let (job, browser) = (try await gateway.travellingJob(), TestBrowser())
            #expect(try await Self.subscribe(browser, gateway, service, by: "bert").status == 404)
            #expect(try await Self.subscribe(browser, gateway, service, by: "olga", .ops).status == 403)
            let bad = try await gateway.rest(
                "PUT", "/api/v1/jobs/job-1/push", by: "anna", .customer,
                #"{"subscription":{"endpoint":"http://x","keys":{"p256dh":"","auth":""}}}"#)
            #expect(bad.status == 422 && bad.text.contains("must start with https://"), "\(bad.text)")
            // In JSON, each of these characters would be stored as two bytes.
            let quotes = String(repeating: #"\""#, count: 980)
            let quoted = try await gateway.rest(
                "PUT", "/api/v1/jobs/job-1/push", by: "anna", .customer,
                #"{"subscription":{"endpoint":"https://x.example/\#(quotes)","keys":{"p256dh":"\#(browser.p256dh)","#
                    + #""auth":"\#(browser.auth)"}}}"#)
            #expect(quoted.status == 422 && quoted.text.contains("quotation mark"), "\(quoted.text)")
            _ = try await gateway.ledger.publish(.workInProgress, of: job, by: PersonID("service")!, source: "event")
                .get()
            _ = try await gateway.ledger.publish(.completed, of: job, by: PersonID("service")!, source: "event").get()
            #expect(try await Self.subscribe(browser, gateway, service).status == 409)
        }
    }

    @Test func `a gateway without a key reports that it sends no push messages`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                _ = try await gateway.travellingJob()
                let answer = try await gateway.rest(
                    "PUT", "/api/v1/jobs/job-1/push", by: "anna", .customer,
                    #"{"subscription":{"endpoint":"https://x.example/","keys":{"p256dh":"","auth":""}}}"#)
                #expect(answer.status == 404 && answer.text.contains("no key for push messages"))
            }
        }
    }
}
