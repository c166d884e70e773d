import Foundation
import Subprocess
import Testing

/// Imports, manifest and folders follow the table of layers in ARCHITECTURE.md, the only statement of the layers.
@Suite struct LayerTests {
    private struct Row {
        let layer: Int
        let target: String
        let purpose: String
    }

    private static func rows() throws -> [Row] {
        try Project.file("ARCHITECTURE.md").text.matches(of: /(?m)^\| (\d+) \| `(\w+)` \| (.+) \|$/).compactMap {
            match in
            Int(match.1).map { Row(layer: $0, target: String(match.2), purpose: String(match.3)) }
        }
    }

    private static func layers() throws -> [String: Int] {
        Dictionary(try self.rows().map { ($0.target, $0.layer) }, uniquingKeysWith: { first, _ in first })
    }

    @Test func `every target has a folder, a layer and a purpose of one sentence`() throws {
        let rows = try Self.rows()
        let folders = try FileManager.default.contentsOfDirectory(atPath: Project.root.appending(path: "Sources").path)
        #expect(rows.map(\.target).sorted() == folders.sorted())
        for row in rows {
            #expect(row.purpose.hasSuffix(".") && row.purpose.firstMatch(of: /[.!?]\s/) == nil, "\(row.target)")
        }
    }

    @Test func `targets import only lower layers`() throws {
        let layers = try Self.layers()
        let files = try Project.files("Sources", ".swift")
        #expect(files.count > 60)
        for file in files {
            let target = String(file.path.split(separator: "/")[1])
            let own = try #require(layers[target], "\(target) is not in the table of layers")
            for imported in file.imports {
                guard let other = layers[imported] else { continue }
                #expect(other < own, "\(file.path) imports \(imported)")
            }
        }
    }

    @Test func `the client of the tools depends only on EnrouteWire and the reasons of failed connections`() throws {
        let mine = try Self.layers().keys
        for file in try Project.files("Sources/EnrouteClient", ".swift") {
            let imported = Set(file.imports).intersection(mine)
            #expect(imported.isSubset(of: ["EnrouteWire", "NetworkErrors"]), "\(file.path)")
        }
    }

    private struct Description: Decodable {
        struct Target: Decodable {
            let name: String
            let path: String
            let target_dependencies: [String]?
        }

        let targets: [Target]
    }

    @Test func `targets depend only on lower layers in the manifest`() async throws {
        let layers = try Self.layers()
        let described = try JSONDecoder().decode(Description.self, from: await Self.describe())
        // The client for apps is a package of its own; its tests and samples are targets here.
        let targets = described.targets.filter {
            $0.path.hasPrefix("Sources") && !$0.path.hasPrefix("Sources/Client/")
        }
        #expect(targets.count >= 15)
        for target in targets {
            let own = try #require(layers[target.name], "\(target.name) is not in the table of layers")
            for dependency in target.target_dependencies ?? [] {
                let other = try #require(layers[dependency], "\(dependency) is not in the table of layers")
                #expect(other < own, "\(target.name) depends on \(dependency)")
            }
        }
    }

    /// SwiftPM's description of the manifest. It uses a separate build folder, because these tests may run under another
    /// SwiftPM process that has locked the usual one.
    private static func describe() async throws -> Data {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-describe-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let outcome = try await Subprocess.run(
            .name("swift"),
            arguments: [
                "package", "--package-path", Project.root.path, "--scratch-path", folder.path, "--ignore-lock",
                "describe", "--type", "json",
            ], output: .bytes(limit: 1 << 24))
        try #require(outcome.terminationStatus.isSuccess)
        return Data(outcome.standardOutput)
    }
}
