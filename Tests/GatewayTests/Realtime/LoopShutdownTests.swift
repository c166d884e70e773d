import Access
import Embedded
import LiveState
import Logging
import NIOCore
import NIOPosix
import Redis
import TestSupport
import Testing

@testable import ETA
@testable import Gateway
@testable import Realtime
@testable import TrafficControl

/// A stopped gateway leaves nothing behind. Otherwise a process with many gateways, such as this test process, would grow.
@Suite struct LoopShutdownTests {
    /// A weak reference that is read on the loop, and once more after the loop has ended.
    private final class WeakLoopState: @unchecked Sendable {
        weak var state: LoopState?
    }

    @Test func `a stopped loop is deallocated with everything it owns`() async throws {
        try await within {
            let tokens = TokenVerifier(
                keys: [try await .hs256(secret: "a secret of at least thirty-two bytes")], issuer: "test",
                audience: "test")
            try await RedisServer.running { redis in
                let address = try RedisAddress(url: redis.url)
                let settings = GatewaySettings(
                    host: "127.0.0.1", port: 0, credentials: nil, live: address, ledger: address, tokens: tokens)
                try await Self.startAndStop(settings)
            }
        }
    }

    private static func startAndStop(_ settings: GatewaySettings) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let owner = NIOLoopBoundBox.makeEmptyBox(valueType: LoopState.self, eventLoop: loop)
        let weakState = WeakLoopState()
        try await loop.flatSubmit {
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let state = LoopState(
                eventLoop: loop, index: 0, loops: 1, settings: settings.realtime,
                quotas: Quotas(limits: settings.limits),
                load: SharedLoad(loops: 1), revocations: Revocations(), routing: .alone,
                faultMonitors: RedisFaultMonitors(keyspace: settings.liveState.keyspace, logger: logger), logger: logger
            )
            owner.value = state
            weakState.state = state
            return state.start()
        }.get()
        let isThere = try await loop.submit { weakState.state != nil }.get()
        #expect(isThere)
        try await loop.submit {
            owner.value?.stop()
            owner.value = nil
        }.get()
        // Redis may still answer pending requests, so the state is retained until then.
        let isRetained = try await loop.submit { weakState.state != nil }.get()
        #expect(isRetained)
        // Shutting down the event loop cancels its scheduled tasks.
        try await group.shutdownGracefully()
        let isGone = weakState.state == nil
        #expect(isGone, "the loop's state is still referenced")
    }
}
