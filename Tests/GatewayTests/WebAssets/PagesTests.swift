import Foundation
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime
@testable import REST
@testable import WebAssets

/// The pages' files, and the headers that browsers get with each.
@Suite struct PagesTests {
    /// Runs `body` with a deployment's own folder.
    private static func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-pages-\(UUID())")
        try FileManager.default.createDirectory(
            at: folder.appending(path: "pages"), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    @Test(arguments: [("web", Set(EmbeddedFiles.pages.keys)), ("api", Set(EmbeddedFiles.documents.keys))])
    func `every file of the folder is embedded unchanged`(folder: String, embedded: Set<String>) throws {
        let folder = Checkout.root.appending(path: "Sources/WebAssets/\(folder)")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(Set(names) == embedded)
        for name in names {
            let bytes = EmbeddedFiles.pages[name] ?? EmbeddedFiles.documents[name]
            #expect(try Data(contentsOf: folder.appending(path: name)) == bytes.map { Data($0) }, "\(name)")
        }
    }

    @Test func `a file of the folder replaces the built-in one, and is read at each request`() async throws {
        try await Self.withFolder { folder in
            let pages = folder.appending(path: "pages")
            try await within {
                try await RunningGateway.run(isSecure: false, { $0.pagesFolder = pages.path }) { gateway in
                    let before = try await gateway.rest("GET", "/assets/track.css", as: nil)
                    #expect(before.status == 200 && before.headers["cache-control"] == "no-cache")
                    let tag = try #require(before.headers["etag"])
                    let again = try await gateway.rest(
                        "GET", "/assets/track.css", as: nil, headers: ["If-None-Match: \(tag)"])
                    #expect(again.status == 304 && again.text.isEmpty)
                    for colour in ["red", "blue"] {
                        try Data("body { color: \(colour) }".utf8).write(to: pages.appending(path: "track.css"))
                        let own = try await gateway.rest(
                            "GET", "/assets/track.css", as: nil, headers: ["If-None-Match: \(tag)"])
                        #expect(own.status == 200 && own.text == "body { color: \(colour) }")
                        #expect(own.headers["content-type"] == "text/css; charset=utf-8")
                        #expect(own.headers["cache-control"] == "no-store" && own.headers["etag"] == nil)
                    }
                    try Data("<!doctype html><html><p>ours".utf8).write(to: pages.appending(path: "rider.html"))
                    let page = try await gateway.rest("GET", "/rider", as: nil)
                    #expect(page.status == 200 && page.text.contains("<p>ours"))
                    try Data([1, 2, 3]).write(to: pages.appending(path: "logo.png"))
                    let logo = try await gateway.rest("GET", "/assets/logo.png", as: nil)
                    #expect(logo.status == 200 && logo.headers["content-type"] == "image/png")
                }
            }
        }
    }

    @Test func `no file outside the folder and no hidden file in it is served`() async throws {
        try await Self.withFolder { folder in
            let pages = folder.appending(path: "pages")
            for place in [folder.appending(path: "secret.css"), pages.appending(path: ".secret.css")] {
                try Data("secret".utf8).write(to: place)
            }
            try Data("secret".utf8).write(to: pages.appending(path: "key.pem"))
            try FileManager.default.createDirectory(
                at: pages.appending(path: "folder.css"), withIntermediateDirectories: true)
            try await within {
                try await RunningGateway.run(isSecure: false, { $0.pagesFolder = pages.path }) { gateway in
                    for path in [
                        "../secret.css", "..%2Fsecret.css", "..%2fsecret.css", "%2e%2e%2fsecret.css",
                        "%2e%2e/secret.css", "..%5Csecret.css", ".secret.css", "%2Esecret.css", "key.pem",
                        "folder.css", "secret.css%00.css", "x..css", ".", "..", "css",
                        String(repeating: "a", count: 80) + ".css",
                    ] {
                        let answer = try await gateway.rest("GET", "/assets/\(path)", as: nil)
                        #expect(answer.status >= 400 && !answer.text.contains("secret"), "\(path): \(answer)")
                    }
                }
            }
        }
    }

    @Test func `every response forbids other origins, referrers and indexing`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                for path in ["/track/job-1", "/rider", "/ops", "/assets/track.js", "/none", "/api/v1/jobs/job-1"] {
                    let headers = try await gateway.rest("GET", path, as: nil).headers
                    let policy = try #require(headers["content-security-policy"])
                    for directive in [
                        "default-src 'none'", "script-src 'self';", "img-src 'self' data:", "font-src 'self'",
                        "connect-src 'self'", "manifest-src 'self'", "worker-src 'self'", "frame-ancestors 'none'",
                    ] {
                        #expect(policy.contains(directive), "\(path): \(policy)")
                    }
                    #expect(headers["permissions-policy"] == "geolocation=(self)")
                    #expect(headers["referrer-policy"] == "no-referrer" && headers["x-robots-tag"] == "noindex")
                    #expect(headers["x-content-type-options"] == "nosniff")
                }
            }
        }
    }
}
