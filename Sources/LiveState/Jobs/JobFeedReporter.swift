// Which device reports for a job, according to the live instance. publish_location compares the same data.

package import EnrouteWire
package import NIOCore
internal import Redis

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

    /// Whether this device reports for the job, or would become the reporter if it reported now.
    ///
    /// - Parameter now: ms since the epoch.
    package func isReporter(_ reporter: Reporter, of job: JobID, now: Int64) -> EventLoopFuture<Bool> {
        let position = self.keyspace.position(of: job)
        return self.live.send(["MGET", .text(self.keyspace.travel(of: job)), .text(position)]).flatMapThrowing {
            answer in
            guard let values = answer.array, values.count == 2 else {
                throw RedisError.unexpectedAnswer(command: "MGET")
            }
            guard let current = self.travel(values[0], of: job)?.reporter, current != reporter else { return true }
            guard current.isNameless, reporter.isNameless else { return false }
            let stored = values[1].bytes?.withUnsafeBytes { PublishedLocation.read($0, of: job)?.id }
            guard let stored else { return true }
            let silence = current == .requests ? Self.silenceOfRequests : Self.silence
            return now - Int64(stored / 1000) > silence.milliseconds
        }
    }
}
