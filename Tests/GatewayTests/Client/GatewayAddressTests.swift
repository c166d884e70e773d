import Testing

@testable import EnrouteClient

/// The URLs of gateways, as clients give them.
@Suite struct GatewayAddressTests {
    @Test(arguments: [
        ("wss://gateway.example", "gateway.example", 443, "gateway.example:443", true),
        ("ws://127.0.0.1:8080/", "127.0.0.1", 8080, "127.0.0.1:8080", false),
        ("ws://[::1]:8471", "::1", 8471, "[::1]:8471", false),
        ("wss://[2001:db8::7]/", "2001:db8::7", 443, "[2001:db8::7]:443", false),
        ("wss://gateway.example:65535", "gateway.example", 65_535, "gateway.example:65535", true),
    ])
    func `a URL has a host, a port and a header field, and only a name goes into the TLS handshake`(
        url: String, host: String, port: Int, authority: String, isName: Bool
    ) throws {
        let address = try GatewayAddress(url)
        #expect(address.host == host && address.port == port && address.authority == authority)
        #expect(address.isName == isName)
    }

    @Test(arguments: [
        ("wss://a", "/v1"), ("wss://a/", "/v1"), ("wss://a/enroute", "/enroute/v1"),
        ("ws://[::1]:80/x/y-_.~9/", "/x/y-_.~9/v1"),
        ("wss://a/v1/x", "/v1/x/v1"),
    ])
    func `a URL may have the path prefix below which a proxy serves the gateway`(url: String, path: String) throws {
        #expect(try GatewayAddress(url).socketPath == path)
    }

    @Test(arguments: [
        "", "wss://", "wss:///", "https://gateway.example", "wss://:8443", "wss://a:", "wss://a:0", "wss://a:65536",
        "wss://localhost:73979", "wss://a:+80", "wss://a:1:2", "wss://::1", "wss://[::1", "wss://[::1]8471",
        "wss://[::1]:", "wss://[::1]:99999", "wss://[]", "wss://[name]", "wss://[127.0.0.1]", "wss://a/v1", "wss://u@a",
        "wss://a?b", "wss://a#b", "wss://a b", "wss:///x", "wss://a/x/v1", "wss://a/v1/", "wss://a//", "wss://a/x//y",
        "wss://a/..", "wss://a/./x", "wss://a/%41", "wss://a/x?b", "wss://a/x#b", "wss://a/x b", "wss://a/ü",
    ])
    func `a URL with anything else is malformed`(url: String) {
        #expect(throws: ClientError.malformedURL(url)) { try GatewayAddress(url) }
    }
}
