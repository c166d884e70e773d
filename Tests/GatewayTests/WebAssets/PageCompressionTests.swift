import EnrouteWire
import Foundation
import Testing

@testable import Gateway
@testable import Realtime
@testable import WebAssets

/// Files of the pages as they are sent.
@Suite struct PageCompressionTests {
    @Test(arguments: [
        ("gzip", true), ("br, gzip;q=0.5", true), ("GZIP", true), ("x-gzip", true), ("deflate , gzip ; q=1", true),
        ("", false), ("identity", false), ("gzip;q=0", false), ("gzip; q=0.000", false), ("br, zstd", false),
    ])
    func `an Accept-Encoding header accepts or rejects gzip`(header: String, isTaken: Bool) {
        #expect(PageCompression.isTaken(by: header) == isTaken)
    }

    @Test func `a file that compression would not shorten is sent unchanged`() {
        var generator = SystemRandomNumberGenerator()
        #expect(PageCompression.gzip([UInt8](repeating: 32, count: PageCompression.shortest - 1)) == nil)
        #expect(PageCompression.gzip((0..<4096).map { _ in generator.next() as UInt8 }) == nil)
        let packed = PageCompression.gzip([UInt8](repeating: 32, count: PageCompression.shortest))
        #expect(packed?.prefix(2) == [0x1F, 0x8B])
    }

    @Test func `a file is compressed for clients that accept it, with its own entity tag`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let plain = try await gateway.rest("GET", "/assets/enroute.js", as: nil)
                let packed = try await gateway.rest(
                    "GET", "/assets/enroute.js", as: nil, headers: ["Accept-Encoding: gzip"])
                #expect(plain.headers["content-encoding"] == nil && packed.headers["content-encoding"] == "gzip")
                for answer in [plain, packed] { #expect(answer.headers["vary"] == "Accept-Encoding") }
                let tags = [plain, packed].map { $0.headers["etag"] ?? "" }
                #expect(tags[0] != tags[1])
                for (encoding, tag, status) in [("gzip", tags[1], 304), ("gzip", tags[0], 200), ("br", tags[0], 304)] {
                    let again = try await gateway.rest(
                        "GET", "/assets/enroute.js", as: nil,
                        headers: ["Accept-Encoding: \(encoding)", "If-None-Match: \(tag)"])
                    #expect(again.status == status, "\(encoding) \(tag)")
                }
            }
        }
    }

    @Test func `a deployment's file that is too long counts as missing`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-pages-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = PageFiles(folder: folder.path)
        for (length, isThere) in [(PageFiles.longestFile, true), (PageFiles.longestFile + 1, false)] {
            try Data(count: length).write(to: folder.appending(path: "logo.png"))
            #expect((files["logo.png"] != nil) == isThere, "\(length)")
        }
    }
}
