// Events out of an SQS queue, for systems that write into one instead of asking us. A message is deleted once the ledger has
// what it says, or has gone beyond it; what is early, or can not be done because Redis is away, is given back for later; what
// can never be done is left where it is, for the queue's redrive policy to put aside.

internal import Access
internal import EnrouteWire
internal import Events
internal import HTTPValues
internal import Logging
internal import REST
internal import ServiceLifecycle
internal import Telemetry
internal import TrafficControl

/// Reads one queue until it is cancelled or the gateway drains. Messages are done one after the other.
struct QueueConsumer: Sendable {
    let queue: EventQueue
    let routes: Routes
    let notes: DependencyStates
    let logger: Logger

    /// When what is early comes again, s.
    static let earlyPause = 5
    /// When what was not done for want of Redis comes again, s.
    static let outagePause = 10
    /// Between two questions to a queue that does not answer.
    static let questionPause: ClosedRange<Int> = 1...5
    /// Who sends what a queue holds.
    private static let grant = Grant(person: PersonID("sqs")!, role: .service)

    func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    let messages = try await self.queue.receive()
                    self.notes.note(.queue, isUp: true)
                    for message in messages { try await self.take(message) }
                } catch is CancellationError {
                    break
                } catch {
                    self.notes.note(.queue, isUp: false)
                    self.logger.warning("queue request failed; retrying", metadata: [LogKey.reason: "\(error)"])
                    try? await Task.sleep(for: .seconds(Int.random(in: Self.questionPause)))
                }
            }
        }
        await self.queue.shutdown()
    }

    /// - Throws: `EventQueue.Failure` when the queue can not be told; then the message comes again, and is known.
    private func take(_ message: EventQueue.Message) async throws {
        do {
            let event: CloudEvent
            do throws(EventFault) { event = try message.event() } catch { throw self.routes.problem(error) }
            _ = try await self.routes.take(event, Self.grant)
        } catch let problem as Problem {
            problem.log("queue message failed with an internal error", self.logger)
            guard problem.isRetryable else {
                self.logger.warning(
                    "queue message rejected", metadata: [LogKey.reason: "\(problem.detail)"])
                return
            }
            let pause = problem.statusCode == 409 ? Self.earlyPause : Self.outagePause
            return try await self.queue.giveBack(message, seconds: pause)
        }
        try await self.queue.delete(message)
    }
}
