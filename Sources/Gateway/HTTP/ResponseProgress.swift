// Closes connections whose client reads its response too slowly. Each connection uses a file descriptor and a buffer, and
// without a minimum rate a client that reads a few bytes a minute could occupy both forever.

internal import EnrouteWire
internal import NIOCore
internal import Realtime
internal import SecureSocket
internal import Telemetry
internal import TrafficControl

/// Measures how many bytes a client has read between two checks. A value.
struct ResponseProgress {
    /// The number of bytes that a client must read between two checks.
    private let minBytes: Int
    private var written = 0
    /// The number of bytes read at the last check. It is approximate, because `written` does not include the overhead of TLS.
    private var readBefore = 0

    init(_ limits: Limits) {
        // At least 1, because a client that reads nothing is always too slow.
        self.minBytes = max(1, limits.minResponseBytesPerSecond * limits.writeStallSeconds)
    }

    mutating func wrote(_ bytes: Int) { self.written += bytes }

    /// Starts measuring because bytes are waiting to be sent.
    ///
    /// - Parameter unsent: the number of bytes that the client has not acknowledged, in the gateway and in the kernel.
    mutating func start(unsent: Int) { self.readBefore = self.written - unsent }

    /// Returns whether the client has read enough since the last check. Bytes must have been waiting all the time.
    mutating func isEnough(unsent: Int) -> Bool {
        let read = self.written - unsent
        defer { self.readBefore = read }
        return read - self.readBefore >= self.minBytes
    }
}

/// Closes a connection whose client reads its response too slowly. Confined to the channel's event loop.
final class ResponseStallHandler {
    private let loop: LoopState
    private let socket: SecureSocketHandler
    private var progress: ResponseProgress
    private var deadline: Deadline?

    init(loop: LoopState, socket: SecureSocketHandler) {
        self.loop = loop
        self.socket = socket
        self.progress = ResponseProgress(loop.settings.limits)
    }

    /// Records that a piece of a response was written. If the kernel has not accepted all of it, the periodic checks start.
    func wrote(_ bytes: Int, to channel: any Channel) {
        self.progress.wrote(bytes)
        guard self.deadline == nil, self.socket.isWaiting else { return }
        self.progress.start(unsent: self.socket.unsentBytes)
        self.scheduleCheck(channel)
    }

    /// Stops the checks: the response is complete, or the connection has become a stream, which has its own limits.
    func stop() {
        self.deadline?.cancel()
        self.deadline = nil
    }

    private func scheduleCheck(_ channel: any Channel) {
        self.deadline = self.loop.deadlines.after(.seconds(Int64(self.loop.settings.limits.writeStallSeconds))) {
            [weak self] in
            guard let self else { return }
            self.deadline = nil
            guard self.socket.isWaiting else { return }
            guard self.progress.isEnough(unsent: self.socket.unsentBytes) else {
                self.loop.counts.add(.writesStalled)
                return channel.close(promise: nil)
            }
            self.scheduleCheck(channel)
        }
    }
}
