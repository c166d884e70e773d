import Foundation
import Testing

@testable import LiveState

/// The scripts in lua/ are exactly those that gateways send to Redis.
@Suite struct EmbeddedScriptsTests {
    @Test func `every script of the folder is embedded unchanged`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folder = root.appending(path: "lua")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".lua") }
        #expect(Set(files.map { String($0.dropLast(4)) }) == Set(Scripts.sources.keys))
        for file in files {
            let bytes = Scripts.sources[String(file.dropLast(4))]
            #expect(try Data(contentsOf: folder.appending(path: file)) == bytes.map { Data($0) }, "\(file)")
        }
    }
}
