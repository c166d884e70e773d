// Which device reports for a job, according to the live instance. publish_location compares the same data.

package import EnrouteWire
package import NIOCore
internal import Redis

/// What the live instance knows about one device and the position of a job.
package struct ReporterState: Sendable, Hashable {
    /// Whether this device reports for the job, or would become the reporter if it reported now.
    package var isReporter: Bool
    /// When the stored position was captured, ms since the epoch; `nil` without one.
    package var positionAt: Int64?
}

extension JobFeed {
    /// An unnamed device that has been silent for longer may be replaced by another unnamed device. No device is asked
    /// to report less often than every 20 s. As in publish_location.
    static let silence = Duration.seconds(30)
    /// The same after REST requests without a device name: an app that comes to the foreground stops them and opens a
    /// connection.
    static let silenceOfRequests = Duration.seconds(5)

    /// Whether the feed is open for this device of the rider.
    package func isOpen(_ job: JobID, for rider: PersonID, on reporter: Reporter) -> EventLoopFuture<Bool> {
        self.live.send(["GET", .text(self.keyspace.travel(of: job))]).map { value in
            let travel = self.travel(value, of: job)
            return travel?.rider == rider && travel?.reporter == reporter
        }
    }

    /// - Parameter now: ms since the epoch.
    package func state(of reporter: Reporter, for job: JobID, now: Int64) -> EventLoopFuture<ReporterState> {
        let position = self.keyspace.position(of: job)
        return self.live.send(["MGET", .text(self.keyspace.travel(of: job)), .text(position)]).flatMapThrowing {
            answer in
            guard let values = answer.array, values.count == 2 else {
                throw RedisError.unexpectedAnswer(command: "MGET")
            }
            let position = values[1].bytes
            let stamp = position?.withUnsafeBytes { PublishedLocation.read($0, of: job) }
            let current = self.travel(values[0], of: job)?.reporter
            return ReporterState(
                isReporter: Self.mayReport(reporter, insteadOf: current, storedAt: stamp?.id, now: now),
                positionAt: position?.withUnsafeBytes { PublishedLocation.fix(of: $0)?.at })
        }
    }

    /// - Parameter storedAt: id of the stored position.
    private static func mayReport(
        _ reporter: Reporter, insteadOf current: Reporter?, storedAt: UInt64?, now: Int64
    ) -> Bool {
        guard let current, current != reporter else { return true }
        guard current.isNameless, reporter.isNameless else { return false }
        guard let storedAt else { return true }
        let silence = current == .requests ? Self.silenceOfRequests : Self.silence
        return now - Int64(storedAt / 1000) > silence.milliseconds
    }
}
