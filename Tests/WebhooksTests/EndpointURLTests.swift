import Testing
import Webhooks

@Suite struct EndpointURLTests {
    @Test(arguments: [
        ("https://shop.example/hooks?a=b&c=%20", "shop.example", 443),
        ("https://shop.example:8443", "shop.example", 8443),
        ("https://10.0.0.1/x", "10.0.0.1", 443), ("https://[2606:4700::1111]:444/", "2606:4700::1111", 444),
        ("https://2130706433/", "2130706433", 443),
    ])
    func `the host and the port are read`(text: String, host: String, port: Int) throws {
        let url = try EndpointURL(text)
        #expect(url.host == host && url.port == port && url.description == text)
        #expect(try EndpointURL(text, allowsPlainLoopback: true) == url)
    }

    @Test(arguments: [
        ("http://localhost:3000/hooks", "localhost", 3000), ("http://localhost", "localhost", 80),
        ("http://127.0.0.1:8000/?a=b", "127.0.0.1", 8000), ("http://[::1]:8000/", "::1", 8000),
    ])
    func `I8: http is accepted only for development, and only on this machine`(
        text: String, host: String, port: Int
    ) throws {
        let url = try EndpointURL(text, allowsPlainLoopback: true)
        #expect(url.host == host && url.port == port && url.description == text)
        #expect(throws: EndpointURL.Invalid.self) { _ = try EndpointURL(text) }
    }

    @Test(arguments: [
        "", "http://shop.example/", "HTTPS://shop.example/", "https://", "https:///x", "https://user@shop.example/",
        "https://user:word@shop.example/", "https://shop.example/#x", "https://shop.example\\@other.example/",
        "https://shop .example/", "https://shop.example/a\"b", "https://shop.example/?a=\"",
        "https://shop.example/\u{E9}", "https://SHOP.example/", "https://shop_1.example/",
        "https://shop.example:0/", "https://shop.example:65536/", "https://shop.example:x/", "https://[::1/",
        "https://[shop]/", "https://[::1%25eth0]/", "https://a%2eexample/", "ftp://shop.example/", "file:///etc/passwd",
        "https://" + String(repeating: "a", count: 254) + "/",
        "https://a.example/" + String(repeating: "a", count: 1024),
    ])
    func `anything unusual is refused, even for development`(text: String) {
        #expect(throws: EndpointURL.Invalid.self) { _ = try EndpointURL(text) }
        #expect(throws: EndpointURL.Invalid.self) { _ = try EndpointURL(text, allowsPlainLoopback: true) }
    }

    @Test(arguments: [
        "http://shop.example/", "http://192.168.1.1/", "http://127.1/", "http://2130706433/", "http://0.0.0.0/",
        "http://[::]/", "http://[::ffff:127.0.0.1]/", "http://127.0.0.1.evil.example/",
        "http://localhost.evil.example/", "http://localhost@evil.example/", "http://evil.example#localhost",
        "http://localhost:0/", "http://LOCALHOST/", "http:localhost", "HTTP://localhost/",
    ])
    func `I8: for development, http to any other host is refused`(text: String) {
        #expect(throws: EndpointURL.Invalid.self) { _ = try EndpointURL(text, allowsPlainLoopback: true) }
    }
}
