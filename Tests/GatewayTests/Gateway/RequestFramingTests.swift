import EnrouteWire
import NIOHTTP1
import Testing

@testable import Gateway
@testable import TrafficControl

/// The framing of requests, the rules for heads, and the minimum rate of reading responses, without sockets.
@Suite struct RequestFramingTests {
    /// Returns how many of the bytes belong to the request if they arrive in pieces of this size.
    private static func length(
        _ bytes: [UInt8], body: RequestFraming.Body, piece: Int
    ) throws -> (taken: Int, isComplete: Bool) {
        var framing = RequestFraming()
        var (taken, rest) = (0, bytes[...])
        while !rest.isEmpty {
            let part = Array(rest.prefix(piece))
            let count = try part.withUnsafeBytes { try framing.consume($0) }
            taken += count
            rest = rest.dropFirst(count)
            if framing.isHeadEnded { framing.expect(body) } else if count < part.count { break }
        }
        return (taken, framing.isComplete)
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", "", RequestFraming.Body.none),
        ("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", "", .none), ("GET / HTTP/1.1\nHost: h\n\n", "", .none),
        ("POST / HTTP/1.1\r\nHost: h\r\n\r\n", "12345", .length(5)), ("POST / HTTP/1.1\r\n\r\n", "", .length(0)),
        ("POST / HTTP/1.1\r\n\r\n", "5;a=b\r\n12345\r\n0a\r\n1234567890\r\n0\r\n\r\n", .chunked),
        ("POST / HTTP/1.1\r\n\r\n", "1\r\n\n\r\n000\r\nA: b\r\nC: d\r\n\r\n", .chunked),
    ])
    func `B25: bytes after the end of a request belong to the next request`(
        head: String, body: String, framing: RequestFraming.Body
    ) throws {
        let request = Array((head + body).utf8)
        for piece in [1, 2, 7, 1000] {
            let (taken, isComplete) = try Self.length(request + Array("GET /next".utf8), body: framing, piece: piece)
            #expect(taken == request.count && isComplete, "in pieces of \(piece)")
            #expect(try !Self.length(request.dropLast(), body: framing, piece: piece).isComplete)
        }
    }

    @Test func `B26: chunk sizes, chunk extensions, trailers and heads are limited`() throws {
        let head = "POST / HTTP/1.1\r\n\r\n"
        let many = String(repeating: "1;x=y\r\na\r\n", count: 2000)
        for (bytes, violation) in [
            (head + "1;" + String(repeating: "x", count: 5000), .chunkExtensions), (head + many, .chunkExtensions),
            (head + String(repeating: "0", count: 5000), .chunkSize), (head + "fffffffffffffffff\r\n", .chunkSize),
            (head + "0\r\n" + String(repeating: "a: b\r\n", count: 3000), .trailers),
            (String(repeating: "\r\n", count: 9000), .head),
        ] as [(String, RequestFraming.Violation)] {
            #expect(throws: violation) { try Self.length(Array(bytes.utf8), body: .chunked, piece: 100) }
        }
        // Exactly the limit, and one byte more, in one piece and in many.
        for piece in [1, 100, 100_000] {
            let rest = "GET / HTTP/1.1\r\na: \r\n\r\n".utf8.count
            for (extra, isTooLong) in [(0, false), (1, true)] {
                let value = String(repeating: "v", count: RequestFraming.maxHeadBytes - rest + extra)
                let bytes = Array("GET / HTTP/1.1\r\na: \(value)\r\n\r\n".utf8)
                let outcome = Result { try Self.length(bytes, body: .none, piece: piece).isComplete }
                #expect((try? outcome.get()) == (isTooLong ? nil : true), "\(extra) more, in pieces of \(piece)")
            }
        }
        let small = Array((head + String(repeating: "1\r\na\r\n", count: 2000) + "0\r\n\r\n").utf8)
        #expect(try Self.length(small, body: .chunked, piece: 100).isComplete)
    }

    private static func head(_ fields: [(String, String)], _ version: HTTPVersion = .http1_1) -> HTTPRequestHead {
        HTTPRequestHead(version: version, method: .POST, uri: "/", headers: HTTPHeaders(fields))
    }

    private static let ambiguous: [([(String, String)], HTTPVersion, Int)] = [
        ([], .http1_1, 400), ([("Host", "a"), ("Host", "b")], .http1_1, 400),
        ([("Host", "a"), ("Host", "a")], .http1_0, 400), ([("Host", "a b")], .http1_1, 400),
        ([("Host", "a: chunked")], .http1_1, 400), ([("Host", "a/b")], .http1_1, 400),
        ([("Host", "a@b")], .http1_1, 400),
        ([("Host", "a"), ("Content-Length", "1"), ("Content-Length", "2")], .http1_1, 400),
        ([("Host", "a"), ("Content-Length", "+1")], .http1_1, 400),
        ([("Host", "a"), ("Content-Length", "99999999999999999999")], .http1_1, 400),
        ([("Host", "a"), ("Content-Length", "1"), ("Transfer-Encoding", "chunked")], .http1_1, 400),
        ([("Host", "a"), ("Transfer-Encoding", "chunked")], .http1_0, 400),
        ([("Host", "a"), ("Transfer-Encoding", "chunked, chunked")], .http1_1, 400),
        ([("Host", "a"), ("Transfer-Encoding", "gzip, chunked")], .http1_1, 501),
        ([("Host", "a"), ("Transfer-Encoding", "xchunked")], .http1_1, 501),
    ]

    @Test(arguments: Self.ambiguous)
    func `B57: an ambiguous request head is rejected`(
        fields: [(String, String)], version: HTTPVersion, status: Int
    ) {
        #expect { try RequestRules.body(of: Self.head(fields, version)) } throws: { error in
            (error as? RequestRules.Violation)?.status == status
        }
    }

    @Test func `the framing of a body follows its head`() throws {
        #expect(try RequestRules.body(of: Self.head([], .http1_0)) == .none)
        for host in ["", "a", "a.example:8443", "[::1]:8443", "127.0.0.1", "a_b.example"] {
            #expect(try RequestRules.body(of: Self.head([("Host", host)])) == .none, "\(host)")
        }
        #expect(try RequestRules.body(of: Self.head([("Host", "a"), ("Content-Length", "7")])) == .length(7))
        #expect(try RequestRules.body(of: Self.head([("Host", "a"), ("Transfer-Encoding", "Chunked")])) == .chunked)
    }

    @Test(arguments: [
        ("/v1", "/v1", "a"), ("/v1?b=http://c/d", "/v1?b=http://c/d", "a"), ("*", "*", "a"),
        ("http://x/v1", "/v1", "x"), ("HTTPS://x.example:8443/v1?b=c", "/v1?b=c", "x.example:8443"),
        ("http://x", "/", "x"), ("http://x?b=c", "/?b=c", "x"), ("ws://[::1]:80/v1", "/v1", "[::1]:80"),
        ("http://x//v1", "//v1", "x"),
    ])
    func `the path and the host of a request are those of a whole URL as its target`(
        target: String, path: String, host: String
    ) throws {
        let raw = HTTPRequestHead(version: .http1_1, method: .GET, uri: target, headers: ["Host": "a"])
        let head = try RequestRules.validate(raw).head
        #expect(head.uri == path && head.headers["host"] == [host])
    }

    @Test(arguments: ["http://", "http:///v1", "http://a:b@x/v1", "http://x y/v1"])
    func `a URL as the target must have a valid host`(target: String) {
        let raw = HTTPRequestHead(version: .http1_1, method: .GET, uri: target, headers: ["Host": "a"])
        #expect { try RequestRules.validate(raw) } throws: { ($0 as? RequestRules.Violation)?.status == 400 }
    }

    @Test func `a URL as the target replaces neither a missing nor a second Host header`() {
        for fields in [[], [("Host", "x"), ("Host", "x")]] {
            let raw = HTTPRequestHead(
                version: .http1_1, method: .GET, uri: "http://x/v1", headers: HTTPHeaders(fields))
            #expect { try RequestRules.validate(raw) } throws: { ($0 as? RequestRules.Violation)?.status == 400 }
        }
    }

    @Test func `B57: a token in a URL is detected even if its name is percent-encoded`() {
        for uri in ["/x?%74oken=1", "/x?a=b&ACCESS%5Ftoken=1", "/x?jwt", "/?b%65%61rer=2"] {
            #expect(uri.hasTokenInQuery)
        }
        for uri in ["/x?tok=1", "/token=1", "/x?%7=token", "/x?a=token", "/x?%2574oken=1"] {
            #expect(!uri.hasTokenInQuery)
        }
    }

    @Test func `B25: a client must read a minimum number of bytes between two checks`() {
        var limits = Limits()
        (limits.minResponseBytesPerSecond, limits.writeStallSeconds) = (100, 10)
        var progress = ResponseProgress(limits)
        progress.wrote(32_768)
        progress.start(unsent: 30_000)
        #expect(progress.isEnough(unsent: 29_000) == true)
        #expect(progress.isEnough(unsent: 28_001) == false)
        // The bytes written in between were read before.
        progress.wrote(32_768)
        #expect(progress.isEnough(unsent: 32_768) == true)
        limits.minResponseBytesPerSecond = 0
        var patient = ResponseProgress(limits)
        patient.wrote(10)
        patient.start(unsent: 10)
        #expect(patient.isEnough(unsent: 10) == false)
        #expect(patient.isEnough(unsent: 9) == true)
    }

    @Test func `B18: a frequent event is logged once a minute, with the number of occurrences`() {
        var throttle = LogThrottle()
        #expect(throttle.record(at: 1) == 0)
        for second in 1...59 { #expect(throttle.record(at: UInt64(second) * 1_000_000_000) == nil) }
        #expect(throttle.record(at: 61_000_000_000) == 59)
        #expect(throttle.record(at: 121_000_000_001) == 0)
    }
}
