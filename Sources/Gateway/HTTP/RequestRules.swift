// Validates the head of a request: its target, host, HTTP version and the framing of its body (RFC 9112 sections 3.2 and 6).
// Ambiguous requests are rejected, because a proxy in front of the gateway might interpret them differently, which allows
// request smuggling.

internal import EnrouteWire
internal import HTTPValues
internal import NIOHTTP1

/// Decides from a head how its body is framed, or why the request is rejected.
enum RequestRules {
    struct Violation: Error, Hashable {
        let status: Int
        let detail: String

        init(_ status: Int, _ detail: String) {
            self.status = status
            self.detail = detail
        }
    }

    /// Validates a head.
    ///
    /// - Returns: the head with its target in origin-form, how its body is framed, and whether the client waits for 100
    ///   (Continue).
    static func validate(
        _ head: HTTPRequestHead
    ) throws(Violation) -> (head: HTTPRequestHead, body: RequestFraming.Body, expectsContinue: Bool) {
        let (body, expectsContinue) = (try Self.body(of: head), try Self.expectsContinue(head))
        return (try Self.originForm(of: head), body, expectsContinue)
    }

    /// Returns the request with its path and query as the target. A proxy may send a whole URL, and a server must accept it.
    /// Its host then replaces that of the header (RFC 9112 section 3.2.2).
    private static func originForm(of head: HTTPRequestHead) throws(Violation) -> HTTPRequestHead {
        guard head.uri.utf8.first != UInt8(ascii: "/"), let scheme = head.uri.firstRange(of: "://") else { return head }
        let rest = head.uri[scheme.upperBound...]
        let host = rest.prefix { !"/?#".contains($0) }
        guard !host.isEmpty, Self.isHost(String(host)) else {
            throw Violation(400, "The target must be a path, or a URL with a host: https://app.example/v1.")
        }
        let path = rest[host.endIndex...]
        var head = head
        head.uri = path.hasPrefix("/") ? String(path) : "/\(path)"
        head.headers.replaceOrAdd(name: "host", value: String(host))
        return head
    }

    static func body(of head: HTTPRequestHead) throws(Violation) -> RequestFraming.Body {
        let hosts = head.headers["host"].count
        guard hosts == 1 || hosts == 0 && head.version == .http1_0 else {
            throw Violation(400, "A request must have exactly one Host header.")
        }
        guard head.headers["host"].allSatisfy(Self.isHost) else {
            throw Violation(400, "Host must be a name or an address, optionally with a port: app.example:8443.")
        }
        // The decoder expects no body after CONNECT, even if the headers announce one.
        guard head.method != .CONNECT else {
            throw Violation(501, "CONNECT is not supported: this server is not a proxy.")
        }
        let (lengths, codings) = (head.headers["content-length"], head.headers[canonicalForm: "transfer-encoding"])
        guard codings.isEmpty else {
            guard lengths.isEmpty, head.version != .http1_0 else {
                throw Violation(400, "Transfer-Encoding requires HTTP/1.1 and excludes Content-Length.")
            }
            guard codings.allSatisfy({ $0.lowercased() == "chunked" }) else {
                throw Violation(501, "The only supported transfer coding is chunked.")
            }
            guard codings.count == 1 else { throw Violation(400, "Transfer-Encoding must contain chunked only once.") }
            return .chunked
        }
        guard let length = lengths.first else { return .none }
        guard lengths.count == 1, !length.isEmpty,
            length.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let count = Int(length)
        else { throw Violation(400, "Content-Length must be one number of bytes.") }
        return count == 0 ? .none : .length(count)
    }

    /// Returns whether the client waits for 100 (Continue) before it sends the body (RFC 9110 section 10.1.1). A client that
    /// uses HTTP/1.0 does not.
    ///
    /// - Throws: 417 for any other expectation.
    static func expectsContinue(_ head: HTTPRequestHead) throws(Violation) -> Bool {
        let expectations = head.version == .http1_0 ? [] : head.headers[canonicalForm: "expect"]
        guard expectations.allSatisfy({ $0.lowercased() == "100-continue" }) else {
            throw Violation(417, "The only supported expectation is 100-continue.")
        }
        return !expectations.isEmpty
    }

    /// Returns whether the text contains only characters of a host and a port (RFC 9110 section 7.2, RFC 3986 section 3.2.2).
    /// An empty Host is valid.
    private static func isHost(_ text: String) -> Bool {
        text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-._~%!$&'()*+,;=:[]".utf8.contains(byte)
            }
        }
    }
}

extension Admission.Refusal {
    /// - Parameter error: the decoder's error, or `nil` if the decoder and `RequestFraming` disagree.
    init(malformed error: HTTPParserError?) {
        guard case .headerOverflow? = error else {
            self.init(bad: "This is not a valid HTTP/1.1 or HTTP/1.0 request.")
            return
        }
        let bounds = "\(Connections.maxHeaderBytes) bytes and \(Connections.maxHeaders) headers"
        self.init(
            status: .requestHeaderFieldsTooLarge,
            problem: Problem(.badRequest, status: 431, detail: "The request headers exceed the limit of \(bounds)."))
    }
}
