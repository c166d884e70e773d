import Dispatch
import Synchronization
import TestSupport
import Testing
import Webhooks

/// Lookups of hosts when name servers do not answer.
@Suite(.needsMachine(for: .faults)) struct HostLookupsTests {
    /// A name server that answers for some hosts only once `open` was called.
    private final class Names: Sendable {
        private let hosts = Mutex<[String]>([])
        private let gate = DispatchSemaphore(value: 0)
        var asked: [String] { self.hosts.withLock { $0 } }
        func open() { self.gate.signal() }

        func addresses(of host: String) -> [IPAddress] {
            self.hosts.withLock { $0.append(host) }
            if host.hasPrefix("slow") { self.gate.wait() }
            return [IPAddress("192.0.2.1")!]
        }
    }

    @Test func `a host that does not resolve is looked up once for all, and does not delay others`() async throws {
        let names = Names()
        let lookups = HostLookups { names.addresses(of: $0) }
        let slow = (0..<100).map { _ in Task { try await lookups.addresses(of: "slow.example") } }
        try await becomes("the lookup has started") { names.asked == ["slow.example"] }
        let quick = try await lookups.addresses(of: "quick.example")
        #expect(quick == [IPAddress("192.0.2.1")!])
        // A caller that is cancelled does not wait for the name server.
        slow[0].cancel()
        await #expect(throws: CancellationError.self) { try await slow[0].value }
        names.open()
        for task in slow.dropFirst() { #expect(try await task.value == quick) }
        #expect(names.asked == ["slow.example", "quick.example"])
        try await lookups.shutdown()
    }
}
