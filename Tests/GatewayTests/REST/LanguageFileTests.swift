import EnrouteClient
import EnrouteWire
import Foundation
import REST
import TestSupport
import Testing

@testable import Gateway

/// Languages that an operator adds to the customer's page with a file.
@Suite struct LanguageFileTests {
    private static func file(_ members: String, language: String = "fr", direction: String = "") throws -> LanguageFile
    {
        let head = #"{"language":"\#(language)","name":"Français"\#(direction)"#
        return try LanguageFile(json: Array("\(head)\(members.isEmpty ? "" : ","+members)}".utf8))
    }

    private static func fault(_ members: String) -> String {
        do {
            _ = try Self.file(members)
            return "none"
        } catch {
            return (error as? LanguageFile.Fault)?.reason ?? "\(error)"
        }
    }

    @Test func `the template is a complete file`() throws {
        let file = try LanguageFile(json: Array(LanguageFile.template.utf8))
        #expect(file.language == "en" && file.name == "English" && file.missing.isEmpty)
        for status in JobStatus.allCases { #expect(file.texts[status] == StatusTexts.english[status]) }
        for member in ["customer", "shared", "times", "statuses", "tracking"] {
            #expect(LanguageFile.template.contains(#""\#(member)" : {"#), "\(member)")
        }
    }

    @Test func `a text that the file lacks stays English, and is listed`() throws {
        let file = try Self.file(
            #""statuses":{"delivered":{"short":"Livré"}},"customer":{"share":"Partager"},"direction":"ltr""#)
        #expect(file.texts[.delivered].short == "Livré")
        #expect(file.texts[.delivered].long == StatusTexts.english[.delivered].long)
        #expect(file.texts[.accepted] == StatusTexts.english[.accepted])
        #expect(file.missing.contains("statuses.delivered.long") && file.missing.contains("times"))
        #expect(file.missing.contains("customer.apology") && !file.missing.contains("customer.share"))
        #expect(file.gaps.hasPrefix("fr lacks customer.actionFailed, ") && file.gaps.contains(" more; they stay"))
        let german = try Self.file("", language: "de")
        #expect(german.texts[.delivered] == StatusTexts.german[.delivered])
    }

    @Test(arguments: [
        (#""customer":{"shares":"x"}"#, "customer.shares is not a known text"),
        (#""extra":"x""#, "extra is not a known text"),
        (#""statuses":{"flying":{"short":"x"}}"#, "statuses.flying is not a known text"),
        (#""customer":{"title":"x"}"#, "customer.title must be an object with texts"),
        (#""customer":{"share":{"a":"x"}}"#, "customer.share must be a text"),
        (#""customer":{"share":""}"#, "customer.share is empty"),
        (#""customer":{"apology":"Désolé"}"#, "customer.apology must contain {time}, and no other place for a value"),
        (#""customer":{"apology":"{temps}"}"#, "customer.apology must contain {time}, and no other place for a value"),
        (#""customer":{"share":"{time}"}"#, "customer.share must have no places for values, but has {time}"),
        (#""customer":{"refusals":{"full":["x"]}}"#, "customer.refusals.full must be a list of 2 texts"),
        (#""customer":{"refusals":{"full":["x",""]}}"#, "customer.refusals.full[1] is empty"),
        (#""customer":7"#, "it must be a JSON object that contains only texts, lists and objects"),
        (#""direction":"up""#, "direction must be ltr or rtl"),
    ])
    func `a mistake is reported with its path`(members: String, reason: String) {
        #expect(Self.fault(members) == reason)
    }

    @Test func `a file needs a language and its own name, and has a bound`() {
        for (json, reason) in [
            ("[]", "it must be a JSON object"), ("", "it must be a JSON object"), ("{}", "language is missing"),
            (#"{"language":"fr"}"#, "name must be"),
            (#"{"language":"f r","name":"F"}"#, "language must be a BCP 47 tag"),
            (String(repeating: " ", count: LanguageFile.largest + 1), "it is larger than"),
        ] {
            #expect(throws: LanguageFile.Fault.self, "\(reason)") {
                do throws(LanguageFile.Fault) {
                    _ = try LanguageFile(json: Array(json.utf8))
                } catch {
                    #expect(error.reason.hasPrefix(reason), "\(error.reason)")
                    throw error
                }
            }
        }
    }

    @Test func `the customer's page has the texts of the reader's language, and its direction`() async throws {
        let hebrew = try LanguageFile(
            json: Array(
                #"{"language":"he","name":"עברית","direction":"rtl","customer":{"share":"</script>"}}"#.utf8))
        let french = try Self.file(#""customer":{"share":"Partager"},"statuses":{"delivered":{"short":"Livré"}}"#)
        try await within {
            try await RunningGateway.run(
                isSecure: false,
                {
                    $0.languageFiles = [french, hebrew]
                    $0.languages = StatusLanguages(further: [french.texts, hebrew.texts])
                }
            ) { gateway in
                func page(_ path: String, _ accepted: String = "en") async throws -> String {
                    try await gateway.rest("GET", path, as: nil, headers: ["Accept-Language: \(accepted)"]).text
                }
                let own = try await page("/track/order-1", "fr-CA, en;q=0.5")
                #expect(own.contains(#"<html lang="fr">"#) && own.contains(#""share":"Partager""#), "\(own)")
                #expect(own.contains(#""tag":"fr""#) && own.contains(#""he":"עברית""#) && !own.contains("dir="))
                let variant = try await page("/track/order-1?lang=fr-CA")
                #expect(variant.contains(#"<html lang="fr">"#) && variant.contains(#""share":"Partager""#))
                let other = try await page("/track/order-1?lang=he", "fr")
                #expect(other.contains(#"lang="he""#) && other.contains(#"dir="rtl""#), "\(other)")
                #expect(other.contains(#""share":"\u003c"#) && !other.contains("Partager"))
                let english = try await page("/track/order-1")
                #expect(english.contains(#""languages":{"de":"Deutsch""#) && !english.contains(#""tag""#))
                #expect(try await !page("/rider", "fr").contains("Partager"))
                #expect(try await page("/api/v1/texts?language=fr").contains("Livré"))
            }
        }
    }
}
