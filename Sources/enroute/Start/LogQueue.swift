// Log lines on their way to standard error. A stalled reader would block every writer, including event loops. Therefore
// only one thread writes, and all others append to a queue. The queue is bounded: when it is full, lines are lost, and
// the log reports how many.

import Dispatch
import Foundation
import Logging
import Synchronization
import Telemetry

/// A bounded queue of lines, and the thread that writes them in order. Thread-safe; appending does not wait.
final class LogQueue: Sendable {
    /// Maximum number of queued bytes. Further lines are lost until the reader has caught up.
    static let maxBytes = 1 << 20
    /// How long the process waits for the reader before it exits.
    static let patience = DispatchTimeInterval.seconds(1)

    private static let isInUseFlag = Atomic(false)

    /// Whether this process has logged anything.
    static var isInUse: Bool { Self.isInUseFlag.load(ordering: .acquiring) }

    /// The log of the process. `exit`, which every orderly end of the process calls, waits for its last lines.
    static let standardError: LogQueue = {
        atexit { LogQueue.standardError.flush() }
        defer { LogQueue.isInUseFlag.store(true, ordering: .releasing) }
        return LogQueue(descriptor: STDERR_FILENO)
    }()

    private let descriptor: Int32
    private let patience: DispatchTimeInterval
    private let wake = DispatchSemaphore(value: 0)
    private let state: Mutex<State>

    init(descriptor: Int32, maxBytes: Int = LogQueue.maxBytes, patience: DispatchTimeInterval = LogQueue.patience) {
        (self.descriptor, self.patience) = (descriptor, patience)
        self.state = Mutex(State(maxBytes: maxBytes))
        Thread.detachNewThread { [self] in
            var isWithinLine = false
            while true {
                self.wake.wait()
                self.write(&isWithinLine)
            }
        }
    }

    /// - Parameters:
    ///   - line: with its line feed.
    ///   - format: the format of the line that reports lost lines; `nil` for the same as before.
    func append(_ line: String, format: LogFormat? = nil) {
        if self.state.withLock({ $0.append(line, format) }) { self.wake.signal() }
    }

    /// Waits until everything is written, but not longer than `patience`.
    func flush() {
        let written = DispatchSemaphore(value: 0)
        let isIdle = self.state.withLock { state in
            if state.isWriting { state.waiting.append(written) }
            return !state.isWriting
        }
        if !isIdle { _ = written.wait(timeout: .now() + self.patience) }
    }

    /// - Parameter isWithinLine: whether the last line was written only in part.
    private func write(_ isWithinLine: inout Bool) {
        var canWrite = true
        while let batch = self.state.withLock({ $0.next(mayReport: canWrite) }) {
            var failures = 0
            for line in batch.lines where !self.write(line, &isWithinLine) { failures += 1 }
            canWrite = failures == 0
            self.state.withLock { $0.finished(batch, failures: failures) }
        }
    }

    /// Writes a line on its own line: if a full disk accepted only part of the previous line, this one must still be
    /// readable.
    ///
    /// - Returns: whether all of it was written.
    private func write(_ line: String, _ isWithinLine: inout Bool) -> Bool {
        let separator = isWithinLine ? "\n" : ""
        var written = 0
        let isWhole = Output.put(separator + line, to: self.descriptor, written: &written) == nil
        if written > 0 { isWithinLine = !isWhole && written > separator.utf8.count }
        return isWhole
    }
}

extension LogQueue {
    /// Lines that the thread writes, without holding the lock.
    private struct Batch {
        var lines: [String] = []
        var bytes = 0
        /// The number of lost lines that this batch reports.
        var reportedLosses = 0
    }

    private struct State {
        let maxBytes: Int
        private var pending = Batch()
        /// The size of the pending lines and of those being written.
        private var bytes = 0
        private var lost = 0
        /// Stays set until the reader has caught up, so that one line reports all losses, where they occurred.
        private var isFull = false
        private(set) var isWriting = false
        private var format = LogFormat.logfmt
        var waiting: [DispatchSemaphore] = []

        init(maxBytes: Int) { self.maxBytes = maxBytes }

        /// - Returns: whether the thread must be woken.
        mutating func append(_ line: String, _ format: LogFormat?) -> Bool {
            if let format { self.format = format }
            let bytes = line.utf8.count
            if self.bytes + bytes > self.maxBytes { self.isFull = true }
            if self.isFull {
                self.lost += 1
            } else {
                self.pending.lines.append(line)
                self.pending.bytes += bytes
                self.bytes += bytes
            }
            defer { self.isWriting = true }
            return !self.isWriting
        }

        /// - Parameter mayReport: `false` after a failure, so that a full disk does not cause an endless loop of
        ///   reports.
        /// - Returns: `nil` when everything is written. The thread then waits.
        mutating func next(mayReport: Bool) -> Batch? {
            if !self.pending.lines.isEmpty {
                defer { self.pending = Batch() }
                return self.pending
            }
            self.isFull = false
            if self.lost > 0, mayReport {
                defer { self.lost = 0 }
                return Batch(lines: [LogLineHandler.lossReport(self.lost, self.format)], reportedLosses: self.lost)
            }
            self.isWriting = false
            for written in self.waiting { written.signal() }
            self.waiting = []
            return nil
        }

        mutating func finished(_ batch: Batch, failures: Int) {
            self.bytes -= batch.bytes
            if failures > 0 { self.lost += max(failures, batch.reportedLosses) }
        }
    }
}

extension LogLineHandler {
    fileprivate static func lossReport(_ count: Int, _ format: LogFormat) -> String {
        self.line(
            .warning, "log lines lost; standard error did not accept them", [LogKey.count: "\(count)"], "enroute",
            format)
    }
}
