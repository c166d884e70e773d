import EnrouteWire
import Testing

@Suite struct TrackingTextsTests {
    @Test func `US-072: a missing arrival is said in the story's own words`() {
        #expect(TrackingTexts.english[.arrivalRecalculating].short == "ETA recalculating...")
        #expect(TrackingTexts.english[.arrivalUnavailable].short == "ETA unavailable")
        #expect(TrackingTexts.english[.waiting].spoken.hasPrefix("Live location will be available once"))
    }

    @Test(arguments: [TrackingTexts.english, .german])
    func `every state has a label, and a sentence that names no code`(texts: TrackingTexts) {
        for key in TrackingTextKey.allCases {
            let text = texts[key]
            #expect(text.spoken.hasSuffix(".") && text.spoken.first?.isUppercase == true, "\(key)")
            #expect(!text.short.contains("_") && !text.spoken.contains("_"), "\(key)")
        }
        let reasons = UnavailableReason.allCases.map { texts[TrackingTextKey($0)] }
        #expect(Set(reasons).count == UnavailableReason.allCases.count)
    }

    @Test(arguments: [
        (#""tracking""#, #""trakking""#, "tracking.waiting is missing"),
        (#""paused""#, #""resting""#, "tracking.resting is no state"),
        (#""short": "ETA unavailable""#, #""short": """#, "tracking.arrival_unavailable.short is missing"),
        (#""spoken": "You see the live"#, #""said": "You see the live"#, "tracking.live.spoken is missing"),
    ])
    func `a file that lacks something is refused by the name of it`(from: String, to: String, reason: String) {
        let text = String(decoding: StatusTexts.english.json, as: UTF8.self)
        let error = #expect(throws: BadMessage.self) {
            try TrackingTexts(json: Array(text.replacing(from, with: to).utf8))
        }
        #expect(error?.reason == reason)
    }
}
