// Passes elements from an event loop to a test, one at a time. Each wait has a time limit, so that a test that waits in vain
// fails with a message instead of hanging.

package import NIOCore

/// Elements in order of arrival. Filled on its event loop, read from anywhere by one reader at a time.
package final class Inbox<Element: Sendable>: Sendable {
    /// A reference, so that loop-bound state can be mutated in place.
    private final class Box {
        var elements: [Element] = []
        var reader: EventLoopPromise<Element>?
    }

    private let eventLoop: any EventLoop
    private let box: NIOLoopBound<Box>

    /// Must be called on `eventLoop`.
    package init(eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        self.box = NIOLoopBound(Box(), eventLoop: eventLoop)
    }

    /// Must be called on the event loop.
    package func put(_ element: Element) {
        if let reader = self.box.value.reader {
            self.box.value.reader = nil
            reader.succeed(element)
        } else {
            self.box.value.elements.append(element)
        }
    }

    /// Returns the oldest unread element, or waits for the next.
    package func next(within bound: TimeAmount = .seconds(40)) async throws -> Element {
        try await self.eventLoop.flatSubmit { () -> EventLoopFuture<Element> in
            let box = self.box.value
            if !box.elements.isEmpty {
                return self.eventLoop.makeSucceededFuture(box.elements.removeFirst())
            }
            precondition(box.reader == nil, "an inbox has one reader at a time")
            let promise = self.eventLoop.makePromise(of: Element.self)
            box.reader = promise
            let limit = self.eventLoop.scheduleTask(in: bound) {
                self.box.value.reader = nil
                promise.fail(NothingArrived(description: "no \(Element.self) arrived within \(bound)"))
            }
            promise.futureResult.whenComplete { _ in limit.cancel() }
            return promise.futureResult
        }.get()
    }

    /// Returns the next elements.
    package func next(_ count: Int, within bound: TimeAmount = .seconds(40)) async throws -> [Element] {
        var elements: [Element] = []
        while elements.count < count { elements.append(try await self.next(within: bound)) }
        return elements
    }

    /// The number of unread elements.
    package var count: Int {
        get async throws { try await self.eventLoop.submit { self.box.value.elements.count }.get() }
    }
}

/// Nothing arrived in time.
package struct NothingArrived: Error, CustomStringConvertible {
    package let description: String
}
