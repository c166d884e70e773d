import Foundation
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime
@testable import REST
@testable import WebAssets

/// Pages below a path prefix, as a browser sees them: a proxy serves the gateway as `https://example.com/shop` and removes the
/// prefix, which the gateway does not know.
@Suite struct PathPrefixTests {
    private static let gateway = "https://example.com/shop"

    /// The gateway's path to which a URL in a document leads.
    private static func target(of address: String, in path: String) throws -> String {
        let document = try #require(URL(string: Self.gateway + path))
        let target = try #require(URL(string: address, relativeTo: document)).absoluteString
        try #require(target.hasPrefix("\(Self.gateway)/"), "\(address) in \(path) leads to \(target)")
        return String(target.dropFirst(Self.gateway.count))
    }

    /// The URLs of this host in a page's HTML.
    private static func addresses(in html: String) -> [String] {
        html.matches(of: /\s(?:href|src)="([^"#]+)"/).map { String($0.output.1) }.filter { !$0.contains(":") }
    }

    @Test func `every address in a page leads to a file of the gateway, whatever the path of the page`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-pages-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let notice = #"<html><head></head><body><p id="logo"></p><a href="/docs">API</a></body></html>"#
        try Data(notice.utf8).write(to: folder.appending(path: "notice.html"))
        try await within {
            try await RunningGateway.run(isSecure: false) {
                $0.pagesFolder = folder.path
                $0.brand.logo = .init(Array("<svg/>".utf8), mediaType: "image/svg+xml")
            } _: { gateway in
                var found: Set<String> = []
                for path in [
                    "/track/job-1", "/track/job-1/", "/rider", "/rider/", "/ops", "/ops/", "/docs", "/docs/", "/none",
                    "/none/at/all/",
                ] {
                    let page = try await gateway.rest("GET", path, as: nil, headers: ["Accept: text/html"])
                    let targets = try Self.addresses(in: page.text).map { try Self.target(of: $0, in: path) }
                    #expect(targets.count > 1, "\(path): \(page)")
                    found.formUnion(targets)
                }
                #expect(
                    found.isSuperset(of: [
                        "/assets/track.js", "/assets/rider.js", "/assets/ops.js", "/assets/docs.js", "/assets/logo",
                        "/manifest.webmanifest?page=rider", "/openapi.json", "/ops?tab=system", "/docs",
                    ]))
                for target in found {
                    #expect(try await gateway.rest("GET", target, as: nil).status == 200, "\(target)")
                }
            }
        }
    }

    @Test func `the addresses in manifests and the base address of the interface stay below the prefix`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                for page in ["track", "rider", "ops"] {
                    let path = "/manifest.webmanifest?page=\(page)"
                    let text = try await gateway.rest("GET", path, as: nil).text
                    let manifest = try JSONValue(json: Array(text.utf8))
                    let scope = try Self.target(of: #require(manifest["scope"]?.text), in: path)
                    #expect(scope == (page == "track" ? "/track/" : "/\(page)"))
                    let start = try manifest["start_url"]?.text.map { try Self.target(of: $0, in: path) }
                    #expect(start == (page == "track" ? nil : "/\(page)"))
                    for icon in manifest["icons"]?.array ?? [] {
                        #expect(try Self.target(of: #require(icon["src"]?.text), in: path).hasPrefix("/assets/icon-"))
                    }
                }
                let text = try await gateway.rest("GET", "/openapi.json", as: nil).text
                let server = try JSONValue(json: Array(text.utf8))["servers"]?.array?.first
                #expect(try Self.target(of: #require(server?["url"]?.text), in: "/openapi.json") == "/")
            }
        }
    }
}
