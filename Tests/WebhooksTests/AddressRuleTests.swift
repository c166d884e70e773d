import Testing
import Webhooks

/// Which addresses events may be sent to (server-side request forgery).
@Suite struct AddressRuleTests {
    @Test(arguments: [
        "0.0.0.0", "10.1.2.3", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254", "169.254.169.254",
        "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.19.255.255",
        "203.0.113.9", "224.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254",
        "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::a00:1", "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1", "fc00::1",
        "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "2001:db8::1", "2001::1", "2002:7f00:1::", "3fff::1",
    ])
    func `I8: a special address is refused`(text: String) throws {
        #expect(!AddressRule().allows(try #require(IPAddress(text))))
    }

    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.255.255", "172.32.0.1", "192.169.0.1",
        "223.255.255.255", "2606:4700::1111", "2a00:1450:4001::1", "::ffff:8.8.8.8", "64:ff9b::808:808",
    ])
    func `a public address is allowed`(text: String) throws {
        #expect(AddressRule().allows(try #require(IPAddress(text))))
    }

    @Test func `operators can allow networks`() throws {
        let rule = AddressRule(allowed: try ["10.20.0.0/15", "::1", "fd00::/8"].map { try #require(AddressRange($0)) })
        let allowed = ["10.20.0.1", "10.21.255.255", "::1", "fd12::1"]
        for text in allowed { #expect(rule.allows(try #require(IPAddress(text))), "\(text)") }
        for text in ["10.19.255.255", "10.22.0.0", "::2", "fc00::1", "127.0.0.1"] {
            #expect(!rule.allows(try #require(IPAddress(text))), "\(text)")
        }
    }

    @Test(arguments: ["", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0/8", "::/129", "a", "1.2.3.4/8/8", "127.1"])
    func `a malformed range is refused`(text: String) { #expect(AddressRange(text) == nil) }

    @Test func `a host is refused if one of its addresses is, whatever order they have`() async throws {
        for addresses in [["8.8.8.8", "10.0.0.1"], ["10.0.0.1", "8.8.8.8"]] {
            let resolver = HostResolver(rule: AddressRule()) { _ in addresses.compactMap { IPAddress($0) } }
            await #expect(throws: HostResolver.Failure.refused(IPAddress("10.0.0.1")!)) {
                _ = try await resolver.addresses(of: "a.example")
            }
        }
        let resolver = HostResolver(rule: AddressRule()) { _ in [] }
        await #expect(throws: HostResolver.Failure.unresolvable) { _ = try await resolver.addresses(of: "a.example") }
    }

    @Test(arguments: [
        (["2606:4700::1", "2606:4700::2", "1.1.1.1"], ["2606:4700::1", "1.1.1.1", "2606:4700::2"]),
        (["1.1.1.1", "8.8.8.8", "9.9.9.9", "2606:4700::1"], ["1.1.1.1", "2606:4700::1", "8.8.8.8", "9.9.9.9"]),
        (["1.1.1.1", "8.8.8.8"], ["1.1.1.1", "8.8.8.8"]),
    ])
    func `the addresses of a host alternate between IPv6 and IPv4, and start with the first one`(
        resolved: [String], expected: [String]
    ) async throws {
        let resolver = HostResolver(rule: AddressRule()) { _ in resolved.compactMap { IPAddress($0) } }
        #expect(try await resolver.addresses(of: "a.example").map(\.description) == expected)
    }

    @Test(arguments: ["127.0.0.1", "127.1", "0x7f.1", "2130706433", "017700000001", "localhost", "::1", "0"])
    func `I8: this machine is refused, however its address is written`(host: String) async throws {
        let resolver = HostResolver(rule: AddressRule())
        await #expect(throws: HostResolver.Failure.self) { _ = try await resolver.addresses(of: host) }
    }
}
