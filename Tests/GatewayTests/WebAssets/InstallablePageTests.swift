import Foundation
import Subprocess
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime
@testable import REST
@testable import WebAssets

/// What makes pages installable.
@Suite struct InstallablePageTests {
    /// The width and height in the head of a PNG, and its pixels if it has 8 bits per channel and no filters. An
    /// independent reader, so that the code that draws is not judged by itself.
    private static func pixels(_ png: [UInt8]) async throws -> (width: Int, rows: [[UInt8]]) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-icon-\(UUID()).png")
        try Data(png).write(to: folder)
        defer { try? FileManager.default.removeItem(at: folder) }
        let script = """
            import sys, zlib, struct
            data = open(sys.argv[1], 'rb').read()
            assert data[:8] == b'\\x89PNG\\r\\n\\x1a\\n'
            place, chunks = 8, {}
            while place < len(data):
                length, = struct.unpack('>I', data[place:place + 4])
                body = data[place + 4:place + 8 + length]
                assert zlib.crc32(body) == struct.unpack('>I', data[place + 8 + length:place + 12 + length])[0]
                chunks[body[:4]] = body[4:]
                place += 12 + length
            width, height, *kind = struct.unpack('>IIBBBBB', chunks[b'IHDR'])
            assert width == height and kind == [8, 3, 0, 0, 0] and chunks[b'IEND'] == b''
            rows = zlib.decompress(chunks[b'IDAT'])
            assert len(rows) == height * (1 + width)
            palette, opacity = chunks[b'PLTE'], chunks[b'tRNS']
            pixels = bytearray()
            for row in range(height):
                line = rows[row * (1 + width):(row + 1) * (1 + width)]
                assert line[0] == 0
                pixels += line[:1] + b''.join(palette[3 * n:3 * n + 3] + opacity[n:n + 1] for n in line[1:])
            sys.stdout.buffer.write(struct.pack('>I', width) + pixels)
            """
        let outcome = try await Subprocess.run(
            .path("/usr/bin/python3"), arguments: ["-c", script, folder.path], output: .bytes(limit: 1 << 24))
        let bytes = outcome.standardOutput
        try #require(outcome.terminationStatus.isSuccess && bytes.count > 4)
        let width = bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        let length = 1 + 4 * width
        return (width, (0..<width).map { row in Array(bytes[(4 + row * length)..<(4 + (row + 1) * length)]) })
    }

    @Test
    func `each icon is a complete image: a pin in the middle, and round corners unless the system cuts its own`()
        async throws
    {
        for (png, size, isMaskable) in [
            (PageIcon.small, 192, false), (PageIcon.large, 512, false), (PageIcon.maskable, 512, true),
        ] {
            #expect(png.count < 6_000)
            let (width, rows) = try await Self.pixels(png)
            #expect(width == size && rows.count == size)
            func pixel(_ x: Double, _ y: Double) -> [UInt8] {
                let start = 1 + 4 * Int(x * Double(size))
                return Array(rows[Int(y * Double(size))][start..<(start + 4)])
            }
            #expect(pixel(0, 0)[3] == (isMaskable ? 255 : 0))
            let (ground, pin): ([UInt8], [UInt8]) = ([11, 92, 173, 255], [255, 255, 255, 255])
            #expect(pixel(0.1, 0.5) == ground && pixel(0.5, 0.95) == ground)
            // The pin's hole, its disc and its point.
            #expect(pixel(0.5, 0.41) == ground && pixel(0.5, 0.56) == pin && pixel(0.5, 0.65) == pin)
            #expect(pixel(0.39, 0.41) == pin && pixel(0.61, 0.41) == pin)
        }
    }

    @Test func `each page has its own manifest, whose icons exist`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                for page in ["track", "rider", "ops"] {
                    let html = try await gateway.rest("GET", page == "track" ? "/track/job-1" : "/\(page)", as: nil)
                        .text
                    let root = page == "track" ? "../" : "./"
                    let link = #"<link rel="manifest" href="\#(root)manifest.webmanifest?page=\#(page)">"#
                    #expect(html.contains(link) && html.matches(of: /rel="manifest"/).count == 1)
                    let answer = try await gateway.rest("GET", "/manifest.webmanifest?page=\(page)", as: nil)
                    #expect(answer.status == 200)
                    #expect(answer.headers["content-type"]?.hasPrefix("application/manifest+json") == true)
                    #expect(answer.member("start_url", as: String.self) == (page == "track" ? nil : page))
                    let icons = try JSONValue(json: Array(answer.text.utf8))["icons"]?.array ?? []
                    #expect(icons.count == 3)
                    for icon in icons {
                        let asset = try await gateway.rest("GET", "/\(try #require(icon["src"]?.text))", as: nil)
                        #expect(asset.status == 200 && asset.headers["content-type"] == "image/png")
                    }
                }
            }
        }
    }

    @Test func `D35: installed pages have the operator's name, and browsers find an icon`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.brand.name = "Da Gino" }) { gateway in
                for (page, name) in [
                    ("track", "Da Gino"), ("rider", "Da Gino Rider"), ("ops", "Da Gino Operations"),
                ] {
                    let manifest = try await gateway.rest("GET", "/manifest.webmanifest?page=\(page)", as: nil)
                    #expect(manifest.member("name") == name && manifest.member("short_name") == name)
                }
                let icon = try await gateway.rest("GET", "/favicon.ico", as: nil)
                #expect(icon.status == 200 && icon.headers["content-type"] == "image/png")
                let root = try await gateway.rest("GET", "/", as: nil, headers: ["Accept: text/html"])
                #expect(root.status == 404 && root.headers["content-type"] == "text/html; charset=utf-8")
            }
        }
    }

    @Test func `a page's own link to the manifest gets the page's name, and a deployment may have its own manifest`()
        async throws
    {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-pages-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let html = #"<html><head><link rel="manifest" href="/manifest.webmanifest"></head></html>"#
        try Data(html.utf8).write(to: folder.appending(path: "rider.html"))
        try Data(#"{"name":"Ours"}"#.utf8).write(to: folder.appending(path: "rider.webmanifest"))
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.pagesFolder = folder.path }) { gateway in
                let page = try await gateway.rest("GET", "/rider", as: nil).text
                #expect(page.contains(#"<link rel="manifest" href="./manifest.webmanifest?page=rider">"#))
                #expect(page.matches(of: /rel="manifest"/).count == 1)
                let manifest = try await gateway.rest("GET", "/manifest.webmanifest?page=rider", as: nil)
                #expect(manifest.text == #"{"name":"Ours"}"#)
            }
        }
    }

    @Test func `the service worker may control its own folder, and browsers revalidate it each time`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let worker = try await gateway.rest("GET", "/worker.js", as: nil)
                #expect(worker.status == 200 && worker.headers["service-worker-allowed"] == nil)
                #expect(worker.headers["content-type"] == "text/javascript; charset=utf-8")
                #expect(worker.headers["cache-control"] == "no-cache")
            }
        }
    }
}
