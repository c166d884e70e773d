// A repeating timer of an event loop. NIO's repeated task creates a promise and a task for every call, which took more
// than half of an idle gateway's CPU time. The timer is here because this is the lowest target that uses NIO's event
// loops.

package import NIOCore

/// Calls a closure repeatedly, each time `interval` after the last call has returned. Confined to its event loop.
package final class LoopTimer {
    private let eventLoop: any EventLoop
    private let interval: TimeAmount
    private var body: ((NIODeadline) -> Void)?
    private var scheduled: NIOScheduledCallback?

    /// - Parameter body: retained until `cancel`.
    package init(eventLoop: any EventLoop, interval: TimeAmount, _ body: @escaping (_ now: NIODeadline) -> Void) {
        (self.eventLoop, self.interval, self.body) = (eventLoop, interval, body)
    }

    /// Starts the timer, or does nothing if it runs or is cancelled.
    package func start() {
        if self.scheduled == nil, self.body != nil { self.schedule() }
    }

    /// Stops the timer permanently.
    package func cancel() {
        self.scheduled?.cancel()
        (self.scheduled, self.body) = (nil, nil)
    }

    private func schedule() {
        // Fails only when the event loop has shut down, which ends every timer.
        self.scheduled = try? self.eventLoop.scheduleCallback(
            in: self.interval, handler: Callback(timer: NIOLoopBound(self, eventLoop: self.eventLoop)))
    }

    private func fire() {
        self.body?(.now())
        if self.body != nil { self.schedule() }
    }

    private struct Callback: NIOScheduledCallbackHandler, Sendable {
        let timer: NIOLoopBound<LoopTimer>

        func handleScheduledCallback(eventLoop: some EventLoop) { self.timer.value.fire() }
    }
}
