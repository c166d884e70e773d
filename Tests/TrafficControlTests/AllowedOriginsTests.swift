import Testing
import TrafficControl

@Suite struct AllowedOriginsTests {
    @Test(arguments: [
        ("https://app.example:443", "https://app.example"), ("http://app.example:80", "http://app.example"),
        ("https://[::1]:443", "https://[::1]"),
    ])
    func `the default port of an origin is removed, because browsers do not send it`(
        configured: String, sent: String
    ) throws {
        let origins = try AllowedOrigins([configured])
        #expect(origins.list == sent)
        #expect(origins.allows([sent], host: "gateway.example"))
        #expect(origins.sender([sent], host: "gateway.example", fetchSite: nil) == .allowed(sent))
        #expect(try origins == AllowedOrigins([sent]))
    }

    @Test(arguments: [
        "https://app.example", "https://app.example:8443", "https://app.example:80", "http://app.example:443",
        "http://app.example:8080", "https://[2001:db8::1]", "capacitor://localhost", "ionic://localhost:80",
    ])
    func `any other origin stays unchanged`(origin: String) throws {
        #expect(try AllowedOrigins([origin]).list == origin)
    }

    @Test(arguments: [
        "https://a:", "https://a:0", "https://a:0443", "https://a:65536", "https://a:b", "https://a:+443",
    ])
    func `a port that no browser sends is refused`(origin: String) {
        #expect(throws: AllowedOrigins.Malformed.self) { try AllowedOrigins([origin]) }
    }
}
