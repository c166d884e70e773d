import Testing

@testable import OutboundHTTP

@Suite struct LoopbackHostTests {
    @Test(arguments: ["localhost", "LocalHost", "127.0.0.1", "127.0.0.2", "127.255.255.254", "::1", "[::1]"])
    func `every loopback name is recognized`(host: String) {
        #expect(LoopbackHost.contains(host))
        let authority = host == "::1" ? "[::1]" : host
        #expect(LoopbackHost.isHost(of: authority) && LoopbackHost.isHost(of: "\(authority):8443"))
    }

    @Test(arguments: [
        "", "127.", "127.0.0", "127.1", "127.0.0.1.example", "127.example.org", "127.evil.0.1", "127.0.0.256",
        "127.0.0.+1", "127.0.0.-1", "127.0.0.１", "127..0.1", "127.0.0.1.", "128.0.0.1", "1127.0.0.1", "0.0.0.0",
        "localhost.", "localhost.example", "notlocalhost", "::", "::2", "[::1", "::1]", "::ffff:127.0.0.1", "10.0.0.5",
    ])
    func `no other host counts as loopback`(host: String) {
        #expect(!LoopbackHost.contains(host))
        #expect(!LoopbackHost.isHost(of: "\(host):80"))
    }

    @Test(arguments: [
        "", ":", ":80", "localhost:", "localhost:x", "localhost:80:80", "localhost:70000", "[::1]x", "[::1]:", "[::1",
        "::1", "::1:80", "evil@localhost", "localhost@evil:80",
    ])
    func `an authority that is not a host with an optional port is rejected`(authority: String) {
        #expect(!LoopbackHost.isHost(of: authority))
    }
}
