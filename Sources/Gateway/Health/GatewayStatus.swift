// The state of a running gateway for its supervisor: the result of `/readyz`, and whether the event loops respond.

internal import NIOCore
internal import Synchronization
internal import TrafficControl

/// The status of one gateway, from outside its event loops. Thread-safe; waits for no event loop.
package final class GatewayStatus: Sendable {
    private let loops = Mutex<GatewayLoops?>(nil)

    package init() {}

    func follow(_ gatewayLoops: GatewayLoops) { self.loops.withLock { $0 = gatewayLoops } }

    private var current: Readiness { self.loops.withLock { $0 }?.readiness ?? .starting }

    /// Whether `/readyz` responds with 200.
    package var isReady: Bool { self.current == .ready }

    /// The text of `/readyz`.
    package var readiness: String { self.current.text }

    /// How long the slowest event loop is overdue, in milliseconds; 0 before the event loops run.
    package var silentMilliseconds: Int {
        guard let loops = self.loops.withLock({ $0 }) else { return 0 }
        return loops.load.silence(
            now: NIODeadline.now().uptimeNanoseconds, tick: UInt64(Deadlines.tick.nanoseconds))
    }
}
