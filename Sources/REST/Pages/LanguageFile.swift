// A language that an operator adds with a file: the customer's page, the statuses and the tracking states. A text that
// is missing in the file stays in English, or in German if the file is for German. A text that no page has is an error,
// because it is probably misspelled.

package import EnrouteWire
internal import FoundationEssentials
internal import WebAssets

/// One language of a deployment.
package struct LanguageFile: Sendable {
    /// A BCP 47 tag: `fr`, `pt-BR`.
    package let language: String
    /// The language's own name: `Français`.
    package let name: String
    package let isRightToLeft: Bool
    /// The complete texts of statuses and tracking states.
    package let texts: StatusTexts
    /// The paths of texts that are missing in the file.
    package let missing: [String]
    /// The page's texts in the file: the members `customer`, `shared` and `times`.
    private let pageTexts: TextTree

    /// The problem with a file, as a sentence.
    package struct Fault: Error, Hashable {
        package let reason: String
    }

    /// Maximum size of a file in bytes.
    package static let largest = 262_144
    /// Maximum number of files.
    package static let mostFiles = 50
    private static let longestName = 40
    private static let pageMembers = ["customer", "shared", "times"]
    private static let messageMembers = ["statuses", "tracking"]

    package init(json: [UInt8]) throws(Fault) {
        guard json.count <= Self.largest else { throw Fault(reason: "it is larger than \(Self.largest) bytes") }
        guard let file = try? TextTree(json: json), case .object(let members) = file else {
            throw Fault(reason: "it must be a JSON object that contains only texts, lists and objects")
        }
        guard case .text(let language)? = members["language"] else {
            throw Fault(reason: "language is missing; it must be a BCP 47 tag, for example fr or pt-BR")
        }
        guard case .text(let name)? = members["name"], (1...Self.longestName).contains(name.count) else {
            throw Fault(
                reason: "name must be the language's own name of 1 to \(Self.longestName) characters, such as Français")
        }
        let direction = members["direction"] ?? .text("ltr")
        guard [.text("ltr"), .text("rtl")].contains(direction) else {
            throw Fault(reason: "direction must be ltr or rtl")
        }
        let header = ["language", "name", "direction"]
        let content = TextTree.object(members.filter { !header.contains($0.key) })
        var missing: [String] = []
        let whole: TextTree
        do {
            whole = try Self.base(of: language).completed(by: content, at: "", &missing)
        } catch {
            throw Fault(reason: error.reason)
        }
        var messages: [String: TextTree] = ["language": .text(language)]
        for member in Self.messageMembers { messages[member] = whole[member] }
        do {
            self.texts = try StatusTexts(json: TextTree.object(messages).json())
            _ = try TrackingTexts(json: self.texts.json)
        } catch {
            throw Fault(reason: error.reason)
        }
        (self.language, self.name, self.isRightToLeft) = (language, name, direction == .text("rtl"))
        self.missing = missing
        self.pageTexts = .object(members.filter { Self.pageMembers.contains($0.key) })
    }

    /// The texts that are missing in the file, as a sentence with the first paths.
    package var gaps: String {
        let (listed, rest) = (self.missing.prefix(Self.mostListed), self.missing.count - Self.mostListed)
        return "\(self.language) lacks \(listed.joined(separator: ", "))"
            + (rest > 0 ? " and \(rest) more" : "") + "; they stay in the built-in language."
    }

    private static let mostListed = 20

    /// All texts of the template, with the built-in translation of statuses and tracking states if there is one.
    private static func base(of language: String) -> TextTree {
        let messages = language.lowercased() == "de" ? StatusTexts.german : .english
        guard case .object(var members) = Self.pageTemplate, let texts = try? TextTree(json: messages.json) else {
            preconditionFailure("the built-in texts are not valid")
        }
        for member in Self.messageMembers { members[member] = texts[member] }
        return .object(members)
    }

    /// The English texts of the customer's page.
    private static let pageTemplate: TextTree = {
        guard let json = EmbeddedFiles.pages["language-template.json"], let tree = try? TextTree(json: json) else {
            preconditionFailure("language-template.json is built in")
        }
        return tree
    }()

    /// A complete file in English, to be translated.
    package static var template: String {
        guard case .object(var members) = Self.base(of: "en") else { preconditionFailure("the template is an object") }
        members["language"] = .text("en")
        members["name"] = .text("English")
        members["direction"] = .text("ltr")
        return String(decoding: TextTree.object(members).json(isPretty: true), as: UTF8.self)
    }

    /// The data about the languages for the page's script.
    ///
    /// - Parameters:
    ///   - files: all languages of the deployment.
    ///   - language: the language of the page; its texts are added if they come from a file.
    static func script(_ files: [LanguageFile], for language: String) -> [UInt8] {
        var names = ["en": TextTree.text("English"), "de": .text("Deutsch")]
        for file in files { names[file.language] = .text(file.name) }
        var members: [String: TextTree] = ["languages": .object(names)]
        if let file = files.first(where: { $0.language == language }), case .object(let texts) = file.pageTexts {
            members.merge(texts) { own, _ in own }
            members["tag"] = .text(file.language)
            members["direction"] = .text(file.isRightToLeft ? "rtl" : "ltr")
        }
        return TextTree.object(members).json()
    }
}
