import Access
import EnrouteWire
import Foundation
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import HTTPValues
@testable import Realtime
@testable import REST

/// The customer's page as the server renders it.
@Suite struct TrackingPageTests {
    private static func run(
        _ change: @escaping @Sendable (inout GatewaySettings) -> Void = { _ in },
        _ body: @escaping @Sendable (RunningGateway, JobID) async throws -> Void
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, change) { gateway in
                try await body(gateway, try await gateway.travellingJob())
            }
        }
    }

    private static func link(_ gateway: RunningGateway, _ job: JobID, viewers: Int = 5) async throws -> String {
        let made = try await gateway.rest(
            "POST", "/api/v1/jobs/\(job)/links", by: "anna", .customer, #"{"viewers":\#(viewers)}"#)
        return try #require(made.member("link", as: String.self))
    }

    private static func first(_ page: RESTResponse) throws -> JSONValue {
        let json = try #require(
            page.text.firstMatch(of: /<script type="application\/json" id="first">(.*?)<\/script>/)?.1)
        return try JSONValue(json: Array(json.utf8))
    }

    @Test func `a page requested with credentials contains the same state as REST`() async throws {
        try await Self.run { gateway, job in
            let page = try await gateway.rest("GET", "/track/\(job)", by: "anna", .customer)
            #expect(page.status == 200 && page.headers["content-type"] == "text/html; charset=utf-8")
            #expect(page.headers["cache-control"] == "no-store" && page.headers["content-language"] == "en")
            #expect(page.text.contains(#"<html lang="en">"#))
            #expect(page.text.contains(#"<h1 id="headline" tabindex="-1">Your technician is on the way</h1>"#))
            #expect(page.text.contains("The live map will appear as soon as they share their location."))
            let read = try await gateway.rest("GET", "/api/v1/jobs/\(job)", by: "anna", .customer)
            #expect(try Self.first(page) == JSONValue(json: Array(read.text.utf8)))
            let german = try await gateway.rest(
                "GET", "/track/\(job)", by: "anna", .customer, headers: ["Accept-Language: de-CH, en;q=0.5"])
            #expect(german.text.contains(#"<html lang="de">"#) && german.headers["content-language"] == "de")
            #expect(german.text.contains(StatusTexts.german[.onTheWay].long.escaped))
            let switched = try await gateway.rest(
                "GET", "/track/\(job)?lang=en", by: "anna", .customer, headers: ["Accept-Language: de"])
            #expect(switched.text.contains(#"<html lang="en">"#))
        }
    }

    private static func more(_ page: RESTResponse) throws -> JSONValue {
        let json = try #require(
            page.text.firstMatch(of: /<script type="application\/json" id="more">(.*?)<\/script>/)?.1)
        return try JSONValue(json: Array(json.utf8))
    }

    @Test func `the page knows the time of each step and where the order comes from, and later who brought it`()
        async throws
    {
        try await Self.run { gateway, _ in
            func post(_ path: String, _ body: String) async throws {
                let answer = try await gateway.rest("POST", "/api/v1/\(path)", by: "orders", .service, body)
                #expect((200...299).contains(answer.status), "\(answer.text)")
            }
            try await post(
                "jobs",
                #"{"job":"order-more","kind":"delivery","customer":"anna","rider":"rosa-1","destination":{"lat":41.9,"#
                    + #""lon":12.5},"vendor":{"name":"Da Gino","lat":41.91,"lon":12.51}}"#)
            _ = try await gateway.rest(
                "PUT", "/api/v1/riders/rosa-1", by: "orders", .service,
                #"{"zone":"rome","approved":true,"capacity":3,"card":{"name":"Rosa"}}"#)
            try await post("jobs/order-more/status", #"{"status":"accepted"}"#)
            let before = try await gateway.rest("GET", "/track/order-more", by: "anna", .customer)
            let early = try Self.more(before)
            let times = try #require(early["times"]?.object)
            #expect(Set(times.keys) == ["pending_vendor_acceptance", "accepted"])
            #expect(early["shop"]?["lat"]?.number == 41.91 && early["rider"] == nil)
            let secret = try await Self.link(gateway, try #require(JobID("order-more")))
            for status in ["preparing", "ready_for_pickup", "in_transit", "delivered"] {
                try await post("jobs/order-more/status", #"{"status":"\#(status)"}"#)
            }
            let after = try Self.more(try await gateway.rest("GET", "/track/order-more", by: "anna", .customer))
            #expect(after["times"]?.object?.count == 6)
            // After the end the page contains no place.
            #expect(after["shop"] == nil && after["rider"]?.text == "Rosa")
            let shared = try await gateway.rest(
                "GET", "/track/order-more", as: nil, headers: ["Authorization: Link \(secret)"])
            #expect(try Self.more(shared)["rider"]?.text == "Rosa" && !shared.text.contains("riderCard"))
        }
    }

    @Test func `an event that comes late does not change the times of the steps`() async throws {
        try await EventRoutesTests.run { sender in
            func times() async throws -> JSONValue? {
                try Self.more(try await sender.gateway.rest("GET", "/track/j1", by: "anna", .customer))["times"]
            }
            _ = try await sender.send(EventRoutesTests.created)
            for (second, status) in ["accepted", "preparing", "ready_for_pickup", "in_transit"].enumerated() {
                _ = try await sender.send(EventRoutesTests.status("e-\(second)", status, second: second + 5))
            }
            func assigned(_ second: Int, _ rider: String) -> String {
                EventRoutesTests.event(
                    "a-\(second)", "assigned", #"{"job":"j1","rider":"\#(rider)"}"#, second: second)
            }
            #expect(try await sender.send(assigned(9, "r9")).outcome == "applied")
            let before = try await times()
            #expect(before?.object?.count == 5)
            for late in [EventRoutesTests.status("e-9", "preparing", second: 1), assigned(2, "r8")] {
                #expect(try await sender.send(late).outcome == "superseded")
            }
            #expect(try await times() == before)
        }
    }

    @Test func `pages have the operator's logo, colors and support link, and the customer's page the name`()
        async throws
    {
        try await Self.run {
            $0.brand.name = "Da <Gino>"
            $0.brand.supportURL = "https://a.example/?a=1&b"
            $0.brand.accent = PageAccent(PageColour(red: 0xB0, green: 0, blue: 0x20), .light)
            $0.brand.logo = .init(Array("<svg/>".utf8), mediaType: "image/svg+xml")
        } _: { gateway, job in
            let page = try await gateway.rest("GET", "/track/\(job)", as: nil)
            #expect(page.text.contains(">Da &lt;Gino&gt;</span>"))
            #expect(page.text.contains(#"<meta name="enroute-support" content="https://a.example/?a=1&amp;b">"#))
            #expect(page.text.contains("--accent: #b00020;"))
            let rider = try await gateway.rest("GET", "/rider", as: nil)
            #expect(rider.text.contains("--accent: #b00020;") && !rider.text.contains("Gino"))
            let logo = try await gateway.rest("GET", "/assets/logo", as: nil)
            #expect(logo.status == 200 && logo.headers["content-type"] == "image/svg+xml" && logo.text == "<svg/>")
        }
        try await Self.run { gateway, _ in
            let logo = try await gateway.rest("GET", "/assets/logo", as: nil)
            #expect(logo.status == 404)
        }
    }

    @Test func `the steps are a list with one current item`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-pages-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(#"<html><head></head><body><ol id="steps" hidden></ol></body></html>"#.utf8)
            .write(to: folder.appending(path: "track.html"))
        try await Self.run({ $0.pagesFolder = folder.path }) { gateway, job in
            let page = try await gateway.rest("GET", "/track/\(job)", by: "anna", .customer)
            #expect(page.text.contains(#"<ol id="steps"><li data-step="assigned" data-state="complete">"#))
            #expect(
                page.text.contains(
                    #"<li data-step="on_the_way" data-state="active" aria-current="step">On the way</li>"#))
            #expect(page.text.matches(of: /aria-current/).count == 1)
            #expect(page.text.matches(of: /<li\s/).count == JobKind.service.steps.count)
        }
    }

    @Test func `a tracking link opens the page without the position, which only sessions show`()
        async throws
    {
        try await Self.run { gateway, job in
            let secret = try await Self.link(gateway, job, viewers: 1)
            let started = try await gateway.rest("PUT", "/api/v1/jobs/\(job)/travel", by: "rider-1", .rider)
            #expect(started.status == 200)
            let fixes = #"{"fixes":[{"at":\#(Int64(Date.now.timeIntervalSince1970 * 1000)),"lat":41.9531,"lon":12.5}]}"#
            let told = try await gateway.rest("POST", "/api/v1/jobs/\(job)/locations", by: "rider-1", .rider, fixes)
            #expect(told.status == 200)
            let link = ["Authorization: Link \(secret)"]
            let page = try await gateway.rest("GET", "/track/\(job)", as: nil, headers: link)
            #expect(page.status == 200)
            #expect(try Self.first(page)["position"] == .null && !page.text.contains("41.9531"))
            // The page does not claim that there is no position.
            #expect(page.text.contains(StatusTexts.english[.onTheWay].next.escaped))
            let own = try await gateway.rest("GET", "/track/\(job)", by: "anna", .customer)
            #expect(try Self.first(own)["position"]?["lat"] == .number(41.9531))
            let other = try await gateway.travellingJob("job-2")
            let foreign = try await gateway.rest("GET", "/track/\(other)", as: nil, headers: link)
            #expect(foreign.status == 404)
        }
    }

    @Test func `D6: after the job has ended its link shows how, without places, until the link is revoked`()
        async throws
    {
        try await Self.run { gateway, job in
            let secret = try await Self.link(gateway, job)
            let link = ["Authorization: Link \(secret)"]
            for status in ["work_in_progress", "completed"] {
                let told = try await gateway.rest(
                    "POST", "/api/v1/jobs/\(job)/status", by: "orders", .service, #"{"status":"\#(status)"}"#)
                #expect(told.status == 200)
            }
            let page = try await gateway.rest("GET", "/track/\(job)", as: nil, headers: link)
            #expect(page.status == 200 && page.text.contains(StatusTexts.english[.completed].long.escaped))
            let first = try Self.first(page)
            #expect(first["status"]?.text == "completed" && first["statusAt"] != nil)
            for member in ["destination", "display", "riderCard", "eta", "vendorAddress"] {
                #expect(first[member] == nil, "\(member)")
            }
            #expect(first["position"] == .null && !page.text.contains("41.9"))
            let foreign = try await gateway.travellingJob("job-2")
            let other = try await gateway.rest("GET", "/track/\(foreign)", as: nil, headers: link)
            #expect(other.status == 404)
            _ = try await TrackingLinks(ledger: gateway.client, settings: gateway.settings.liveState)
                .revoke(try #require(TrackingLinks.id(of: secret))).get()
            let revoked = try await gateway.rest("GET", "/track/\(job)", as: nil, headers: link)
            #expect(revoked.status == 404)
        }
    }

    @Test func `a page requested without credentials is the shell, even without Redis`() async throws {
        try await Self.run { gateway, job in
            let before = try await gateway.rest("GET", "/track/\(job)", as: nil)
            #expect(before.status == 200 && before.text.contains(#"id="headline""#))
            #expect(!before.text.contains(#"id="first""#))
            kill(try #require(gateway.redis).processID, SIGKILL)
            let shell = try await gateway.rest("GET", "/track/\(job)", as: nil)
            #expect(shell.status == 200 && shell.text == before.text)
            let page = try await gateway.rest("GET", "/track/\(job)", by: "anna", .customer)
            #expect(page.status == 503 && page.headers["retry-after"] != nil)
            #expect(page.text.contains("We can’t show this right now"))
        }
    }

    @Test func `unknown, ended and other users' jobs get the same page, in the requested language`() async throws {
        try await Self.run { gateway, job in
            let secret = try await Self.link(gateway, job)
            let none = String(repeating: "0", count: 32)
            let anna = "Authorization: Bearer \(try await gateway.token("anna", .customer))"
            let bert = "Authorization: Bearer \(try await gateway.token("bert", .customer))"
            _ = try await TrackingLinks(ledger: gateway.client, settings: gateway.settings.liveState)
                .revoke(try #require(TrackingLinks.id(of: secret))).get()
            var pages: Set<String> = []
            for (path, header) in [
                ("\(job)", bert), ("nowhere", anna), ("no.name", anna), ("\(job)", "Authorization: Link \(secret)"),
                ("\(job)", "Authorization: Link \(none)"), ("\(job)", "Authorization: Link x"),
            ] {
                let page = try await gateway.rest(
                    "GET", "/track/\(path)", as: nil, headers: [header, "Accept-Language: de"])
                #expect(page.status == 404 && page.headers["content-type"] == "text/html; charset=utf-8", "\(path)")
                pages.insert(page.text.withoutTrace)
            }
            #expect(pages.count == 1 && pages.first?.contains("Wir finden diese Seite nicht") == true)
            let expired = try await gateway.rest(
                "GET", "/track/\(job)", as: try await gateway.token("anna", .customer, lifetime: -120))
            #expect(expired.status == 401 && expired.text.contains("Please sign in again"))
            #expect(expired.text.contains(#""code":"token_expired""#))
        }
    }

    @Test func `guessing links is rate limited, and the response is a page`() async throws {
        try await Self.run { settings in
            (settings.limits.refusedTokensPerAddressPerSecond, settings.limits.refusedTokensPerAddressBurst) = (1, 3)
        } _: { gateway, job in
            let guess = ["Authorization: Link \(String(repeating: "0", count: 32))"]
            try await becomes("guesses are refused") {
                let page = try await gateway.rest("GET", "/track/\(job)", as: nil, headers: guess)
                if page.status == 429 { #expect(page.text.contains("Too many requests")) }
                return page.status == 429
            }
        }
    }

    @Test func `browsers get HTML errors outside the API, and programs get problem documents`() async throws {
        try await Self.run { gateway, _ in
            let html = ["Accept: text/html,application/xhtml+xml"]
            let page = try await gateway.rest("GET", "/nowhere", as: nil, headers: html)
            #expect(page.status == 404 && page.text.contains("We can’t find this page"))
            let problem = try await gateway.rest("GET", "/nowhere", as: nil)
            #expect(problem.status == 404 && problem.headers["content-type"] == Problem.mediaType)
            let api = try await gateway.rest("GET", "/api/v1/jobs/x", as: nil, headers: html)
            #expect(api.status == 401 && api.headers["content-type"] == Problem.mediaType)
        }
    }

    @Test func `pages contain the sign-in URL, escaped`() async throws {
        try await Self.run({ $0.signInURL = #"https://id.example/in?a=1&b="x""# }) { gateway, job in
            for path in ["/track/\(job)", "/rider", "/ops"] {
                let page = try await gateway.rest("GET", path, as: nil)
                #expect(
                    page.text.contains(
                        #"<meta name="enroute-sign-in" content="https://id.example/in?a=1&amp;b=&quot;x&quot;">"#))
            }
        }
    }
}
