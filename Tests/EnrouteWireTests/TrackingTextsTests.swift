import EnrouteWire
import Testing

@Suite struct TrackingTextsTests {
    @Test func `US-072: the texts for a missing arrival time are those of the user story`() {
        #expect(TrackingTexts.english[.arrivalRecalculating].short == "ETA recalculating...")
        #expect(TrackingTexts.english[.arrivalUnavailable].short == "ETA unavailable")
        #expect(TrackingTexts.english[.waiting].spoken.hasPrefix("Live location will be available once"))
    }

    @Test(arguments: [TrackingTexts.english, .german])
    func `every state has a label and whole sentences, none of which contains a code`(texts: TrackingTexts) {
        for key in TrackingTextKey.allCases {
            let text = texts[key]
            #expect(!text.short.contains("_"), "\(key)")
            for sentence in [text.spoken, text.sentence(for: .delivery), text.sentence(for: .service)] {
                #expect(sentence.hasSuffix(".") && sentence.first?.isUppercase == true, "\(key)")
                #expect(!sentence.contains("_"), "\(key)")
            }
        }
        let reasons = UnavailableReason.allCases.map { texts[TrackingTextKey($0)] }
        // Customers get the same text for a mocked location as for a missing one.
        #expect(Set(reasons).count == UnavailableReason.allCases.count - 1)
    }

    @Test func `a sentence names the rider of a delivery and the technician of a visit`() {
        let paused = TrackingTexts.english[.paused]
        #expect(paused.sentence(for: .delivery).hasPrefix("Your rider"))
        #expect(paused.sentence(for: .service).hasPrefix("Your technician"))
    }

    @Test func `a file without a sentence for a kind falls back to the general one`() throws {
        let text = String(decoding: StatusTexts.english.json, as: UTF8.self)
        let general = text.replacing(#""delivery": "Your rider has paused"#, with: #""unused": "Your rider has paused"#)
        let paused = try TrackingTexts(json: Array(general.utf8))[.paused]
        #expect(paused.delivery == nil && paused.sentence(for: .delivery) == paused.spoken)
    }

    @Test(arguments: [
        (#""tracking""#, #""trakking""#, "tracking.waiting is missing"),
        (#""paused""#, #""resting""#, "tracking.resting is not a known state"),
        (#""short": "ETA unavailable""#, #""short": """#, "tracking.arrival_unavailable.short is missing"),
        (#""spoken": "You’re seeing"#, #""said": "You’re seeing"#, "tracking.live.spoken is missing"),
    ])
    func `a file with a missing or unknown entry is rejected, and the error names it`(
        from: String, to: String, reason: String
    ) {
        let text = String(decoding: StatusTexts.english.json, as: UTF8.self)
        let error = #expect(throws: BadMessage.self) {
            try TrackingTexts(json: Array(text.replacing(from, with: to).utf8))
        }
        #expect(error?.reason == reason)
    }
}
