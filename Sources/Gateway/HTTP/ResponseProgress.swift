// Whether a peer takes its answer, and not just a byte now and then: a connection costs a descriptor and what waits for it,
// and a peer that reads a few bytes each minute would keep both for ever.

internal import EnrouteWire
internal import NIOCore
internal import Realtime
internal import SecureSocket
internal import Telemetry
internal import TrafficControl

/// What a peer has taken between two looks.
struct ResponseProgress {
    /// Bytes that a peer has to take from one look to the next.
    private let leastBytes: Int
    private var written = 0
    /// Taken when it was looked last: an upper bound, as what was written is counted without TLS' own bytes.
    private var takenBefore = 0

    init(_ limits: Limits) {
        // Nothing at all is never enough.
        self.leastBytes = max(1, limits.answerBytesPerSecond * limits.stallSeconds)
    }

    mutating func wrote(_ bytes: Int) { self.written += bytes }

    /// Something begins to wait.
    ///
    /// - Parameter unsent: bytes that the peer has not taken, here and in the kernel.
    mutating func begin(unsent: Int) { self.takenBefore = self.written - unsent }

    /// Whether enough was taken since the last look, all through which something waited.
    mutating func isEnough(unsent: Int) -> Bool {
        let taken = self.written - unsent
        defer { self.takenBefore = taken }
        return taken - self.takenBefore >= self.leastBytes
    }
}

/// Closes a connection whose peer does not take its answer. Confined to the channel's loop.
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

    /// A piece of an answer was written. From now on it is looked at, if the kernel has not taken it.
    func wrote(_ bytes: Int, to channel: any Channel) {
        self.progress.wrote(bytes)
        guard self.deadline == nil, self.socket.isWaiting else { return }
        self.progress.begin(unsent: self.socket.unsentBytes)
        self.lookLater(channel)
    }

    /// The answer is taken, or it is somebody else's matter.
    func stop() {
        self.deadline?.cancel()
        self.deadline = nil
    }

    private func lookLater(_ channel: any Channel) {
        self.deadline = self.loop.deadlines.after(.seconds(Int64(self.loop.settings.limits.stallSeconds))) {
            [weak self] in
            guard let self else { return }
            self.deadline = nil
            guard self.socket.isWaiting else { return }
            guard self.progress.isEnough(unsent: self.socket.unsentBytes) else {
                self.loop.counts.add(.writesStalled)
                return channel.close(promise: nil)
            }
            self.lookLater(channel)
        }
    }
}
