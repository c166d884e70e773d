import EnrouteWire
import Testing

@Suite struct StatusTextsTests {
    @Test(arguments: [
        (JobStatus.pendingVendorAcceptance, "Waiting for vendor", "Waiting for vendor to accept your order"),
        (.preparing, "Preparing your order", "Your order is being prepared"),
        (.readyForPickup, "Order ready", "Your order is ready – waiting for a rider"),
        (.inTransit, "On its way", "Your order is on its way"), (.delivered, "Delivered", "Your order was delivered"),
        (.cancelled, "Cancelled", "This has been cancelled"),
        (.allocationFailed, "Finding a rider", "We're having trouble finding a rider"),
    ])
    func `CUS-027: a status has a label and a sentence that a customer understands`(
        status: JobStatus, short: String, long: String
    ) {
        #expect(StatusTexts.english[status].short == short)
        #expect(StatusTexts.english[status].long == long)
    }

    @Test(arguments: ["en", "de"])
    func `every status has four well-formed texts and a label of its own`(
        language: String
    ) throws {
        let texts = try #require(StatusLanguages()[language])
        for kind in JobKind.allCases {
            #expect(Set(kind.statuses.map { texts[$0].short }).count == kind.statuses.count)
            for status in kind.statuses {
                let text = texts[status]
                #expect(text.spoken.hasSuffix(".") && !text.long.hasSuffix("."))
                #expect(text.next.hasSuffix(".") || text.next.hasSuffix("!"))
                #expect(!text.long.contains("_") && !text.short.contains("_"))
            }
        }
    }

    private static func json(_ change: (inout String) -> Void) -> [UInt8] {
        var text = String(decoding: StatusTexts.english.json, as: UTF8.self)
        change(&text)
        return Array(text.utf8)
    }

    @Test func `a file of the same form adds a language or replaces one`() throws {
        let italian = try StatusTexts(
            json: Self.json { $0 = $0.replacing(#""language": "en""#, with: #""language": "it""#) })
        let languages = StatusLanguages(further: [italian])
        #expect(languages.all.map(\.language) == ["en", "de", "it"])
        let own = try StatusTexts(json: Self.json { $0 = $0.replacing("On its way", with: "Coming") })
        #expect(StatusLanguages(further: [own])["EN"]?[.inTransit].short == "Coming")
        #expect(StatusLanguages(further: [own]).all.count == 2)
    }

    @Test(arguments: [
        (#""language": "en""#, #""language": "e n""#, "language must be a BCP 47 tag, for example en or pt-BR"),
        (#""language": "en","#, "", "language must be a BCP 47 tag, for example en or pt-BR"),
        (#""cancelled""#, #""canceled""#, "statuses.canceled is not a known status"),
        (#""short": "Cancelled""#, #""short": """#, "statuses.cancelled.short is missing"),
        (
            #""next": "They usually"#, #""then": "They usually"#,
            "statuses.pending_vendor_acceptance.next is missing"
        ),
    ])
    func `a file with a missing or unknown entry is rejected, and the error names it`(
        from: String, to: String, reason: String
    ) {
        let error = #expect(throws: BadMessage.self) {
            try StatusTexts(json: Self.json { $0 = $0.replacing(from, with: to) })
        }
        #expect(error?.reason == reason)
    }

    @Test(arguments: [
        ("", "en"), ("de", "de"), ("de-AT, en;q=0.5", "de"), ("fr, de;q=0.4, en;q=0.3", "de"),
        ("en;q=0.1, de;q=0.9", "de"),
        ("fr", "en"), ("*", "en"), ("de;q=0", "en"), (";;,,q=", "en"), ("de;q=2, en", "en"), ("DE", "de"),
    ])
    func `the available language that the reader prefers most is chosen`(header: String, language: String) {
        #expect(StatusLanguages().best(accepting: header).language == language)
    }

    @Test(arguments: [
        ("zh-Hant-TW", "zh-Hant"), ("zh-hant", "zh-Hant"), ("zh-Hant-x-own", "zh-Hant"), ("zh-Hans-CN", nil),
        ("zh", nil),
        ("de-AT", "de"), ("de-DE-u-co-phonebk", "de"), ("DE-", "de"), ("x-de", nil), ("", nil), ("-", nil),
    ])
    func `a tag finds the available language that shares the most subtags with it`(
        tag: String, language: String?
    ) throws {
        let chinese = try StatusTexts(
            json: Self.json { $0 = $0.replacing(#""language": "en""#, with: #""language": "zh-Hant""#) })
        let languages = StatusLanguages(further: [chinese])
        #expect(languages.lookup(tag)?.language == language)
        #expect(languages.best(accepting: tag).language == language ?? "en")
    }

    @Test func `a tag of thousands of subtags is compared in part`() {
        #expect(StatusLanguages().lookup(String(repeating: "a-", count: 4000)) == nil)
        #expect(StatusLanguages().lookup("de" + String(repeating: "-a", count: 4000))?.language == "de")
    }
}
