// The asynchronous sequences of the client. They are the client's own types, so that their implementation can change.

/// Values that may end with an error. Each loop over them is a separate consumer.
public struct Updates<Element: Sendable>: AsyncSequence, Sendable {
    let open: @Sendable () async -> AsyncThrowingStream<Element, any Error>

    public struct AsyncIterator: AsyncIteratorProtocol {
        let open: @Sendable () async -> AsyncThrowingStream<Element, any Error>
        var stream: AsyncThrowingStream<Element, any Error>.AsyncIterator?

        /// Returns the next value; `nil` at the end and when the task is cancelled.
        /// - Throws: `EnrouteError`.
        public mutating func next() async throws -> Element? {
            if self.stream == nil { self.stream = await self.open().makeAsyncIterator() }
            return try await self.stream?.next()
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(open: self.open) }
}

/// Values that never fail. Each loop over them is a separate consumer.
public struct Signals<Element: Sendable>: AsyncSequence, Sendable {
    let open: @Sendable () async -> AsyncStream<Element>

    public struct AsyncIterator: AsyncIteratorProtocol {
        let open: @Sendable () async -> AsyncStream<Element>
        var stream: AsyncStream<Element>.AsyncIterator?

        /// Returns the next value; `nil` when the task is cancelled.
        public mutating func next() async -> Element? {
            if self.stream == nil { self.stream = await self.open().makeAsyncIterator() }
            return await self.stream?.next()
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(open: self.open) }
}

/// The readers of a signal, confined to the client's actor.
struct Listeners<Element: Sendable> {
    private var continuations: [Int: AsyncStream<Element>.Continuation] = [:]
    private var last = 0

    mutating func open(first: Element?, onEnd: @escaping @Sendable (Int) -> Void) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Element.self, bufferingPolicy: .bufferingNewest(EnrouteClient.mostSignals))
        self.last += 1
        let id = self.last
        self.continuations[id] = continuation
        continuation.onTermination = { _ in onEnd(id) }
        if let first { continuation.yield(first) }
        return stream
    }

    mutating func close(_ id: Int) { self.continuations[id] = nil }

    func send(_ element: Element) { for continuation in self.continuations.values { continuation.yield(element) } }
}
