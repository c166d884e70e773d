import EnrouteWire
import Foundation
import Testing

@testable import Gateway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite struct TextRoutesTests {
    private static func texts(_ gateway: RunningGateway, _ query: String, accepting: String? = nil) async throws -> (
        language: String?, short: String?
    ) {
        var request = URLRequest(url: URL(string: "http://127.0.0.1:\(gateway.port)/api/v1/texts\(query)")!)
        request.setValue(accepting ?? "", forHTTPHeaderField: "Accept-Language")
        let (data, response) = try await URLSession.shared.data(for: request)
        let texts = try StatusTexts(json: Array(data))
        let language = (response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Content-Language")
        #expect(language == texts.language)
        return (language, texts[.inTransit].short)
    }

    @Test func `texts are public and in the requested or preferred language`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let plain = try await Self.texts(gateway, "")
                #expect(plain == ("en", "On its way"))
                let named = try await Self.texts(gateway, "?language=de")
                #expect(named == ("de", "Unterwegs"))
                let variant = try await Self.texts(gateway, "?language=de-AT", accepting: "en")
                #expect(variant == ("de", "Unterwegs"))
                let liked = try await Self.texts(gateway, "", accepting: "fr, de-CH;q=0.7")
                #expect(liked == ("de", "Unterwegs"))
                let unknown = try await Self.texts(gateway, "?language=tlh", accepting: "de")
                #expect(unknown == ("de", "Unterwegs"))
            }
        }
    }
}
