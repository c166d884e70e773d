import Foundation
import Testing

@testable import Streets

/// The file that a compilation writes.
@Suite struct StreetOutputTests {
    private let folder: TemporaryPlace
    private let input: String

    init() throws {
        self.folder = try TemporaryPlace()
        self.input = try self.folder.write(
            "town.geojson", try Town.geoJSON([TestStreet(places: [(48, 16), (48, 16.01)])]))
    }

    private func compile(to output: String) throws(StreetInputError) {
        _ = try StreetCompiler.compile(inputs: [self.input], output: output)
    }

    private func isCompiled(_ name: String) -> Bool { (try? StreetNetwork(path: self.folder.file(name))) != nil }

    private func permissions(_ name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: self.folder.file(name))[.posixPermissions] as? Int
    }

    private func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: self.folder.file(name), withDestinationPath: target)
    }

    @Test(arguments: ["town.geojson", "./town.geojson", "link", "folder/../town.geojson", "linked/town.geojson"])
    func `an output that is an input is refused before anything is read, whatever its name`(name: String) throws {
        try FileManager.default.createDirectory(
            atPath: self.folder.file("folder"), withIntermediateDirectories: false)
        try self.link("link", to: "town.geojson")
        try self.link("linked", to: self.folder.path)
        let before = try Data(contentsOf: URL(fileURLWithPath: self.input))
        #expect {
            // If the output were not checked first, the error would be about the missing file.
            _ = try StreetCompiler.compile(
                inputs: [self.folder.file("absent"), self.input], output: self.folder.file(name))
        } throws: {
            "\($0)".contains("\(name) cannot be written: it is the input \(self.input). Choose another name")
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: self.input)) == before)
    }

    @Test func `an output that is a device, a FIFO or a folder is refused`() throws {
        let pipe = self.folder.file("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        for (path, reason) in [
            (pipe, "it exists and is not a regular file"), ("/dev/null", "it exists and is not a regular file"),
            (self.folder.path, "it is a folder"),
        ] {
            #expect(throws: StreetInputError.unwritable(path: path, reason: reason)) { try self.compile(to: path) }
        }
    }

    @Test func `a symbolic link stays a link, and its target is written`() throws {
        let inner = self.folder.file("folder")
        try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
        try self.link("current", to: "folder/next")
        try self.link("folder/next", to: "new.streets")
        // The file is created, then replaced.
        for _ in 0..<2 {
            try self.compile(to: self.folder.file("current"))
            #expect(self.isCompiled("folder/new.streets") && self.isCompiled("current"))
            for name in ["current", "folder/next"] {
                #expect((try? FileManager.default.destinationOfSymbolicLink(atPath: self.folder.file(name))) != nil)
            }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: inner).sorted() == ["new.streets", "next"])
    }

    @Test(arguments: [0o640, 0o604, 0o666]) func `a new file keeps the permissions of the one that it replaces`(
        mode: Int
    ) throws {
        let output = try self.folder.write("old.streets", "old".utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: output)
        try self.compile(to: output)
        #expect(self.isCompiled("old.streets"))
        #expect(try self.permissions("old.streets") == mode)
    }

    @Test func `a failed compilation leaves the old file as it was`() throws {
        let output = try self.folder.write("old.streets", "old".utf8)
        let broken = try self.folder.write("broken.geojson", "{".utf8)
        #expect(throws: StreetInputError.self) {
            _ = try StreetCompiler.compile(inputs: [broken], output: output)
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: output)) == Data("old".utf8))
    }
}
