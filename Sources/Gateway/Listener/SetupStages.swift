// Measures the stages of a new connection: TLS handshake and upgrade. The session measures its sign-in.

internal import NIOCore
internal import Telemetry

/// The clock of one connection's setup. A value.
struct SetupStages {
    /// When the current stage began; `nil` once the connection has answered a request, because the time until an upgrade then
    /// depends on the client.
    private var start: NIODeadline? = .now()

    init() {}

    /// Records the duration of a stage. The next one starts now.
    mutating func ended(_ recorder: DurationRecorder) {
        guard let start = self.start else { return }
        let now = NIODeadline.now()
        recorder.record(microseconds: (now - start).nanoseconds / 1_000)
        self.start = now
    }

    mutating func answered() { self.start = nil }
}
