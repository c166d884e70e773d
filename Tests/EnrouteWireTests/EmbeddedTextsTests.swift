import Foundation
import Testing

@testable import EnrouteWire

@Suite struct EmbeddedTextsTests {
    @Test func `every translation file is embedded unchanged`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folder = root.appending(path: "Sources/EnrouteWire/Texts")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(Set(files) == Set(EmbeddedTexts.files.keys))
        for file in files {
            #expect(try Data(contentsOf: folder.appending(path: file)) == EmbeddedTexts.files[file].map { Data($0) })
        }
    }
}
