// Consumes events from an Amazon SQS queue, for systems that publish to a queue instead of calling the REST interface.
//
// A message is deleted once its event is applied or superseded. If the event cannot be applied yet, if Redis is unavailable,
// or if too few replicas have confirmed the change, the message is returned to the queue with a delay. If the event can never
// be applied, the message is not deleted, and the queue's redrive policy moves it to the dead-letter queue.

internal import Access
internal import EnrouteWire
internal import Events
internal import HTTPValues
internal import Logging
internal import REST
internal import ServiceLifecycle
internal import Telemetry
internal import TrafficControl

/// Consumes one queue until it is cancelled or the gateway shuts down. Messages are processed one at a time.
struct QueueConsumer: Sendable {
    let queue: EventQueue
    let routes: Routes
    let dependencies: DependencyStates
    let logger: Logger

    /// The delay in seconds before a message whose event cannot be applied yet is delivered again.
    static let notYetDelay = 5
    /// The delay in seconds before a message that failed because of Redis, or whose change a failover could lose, is delivered
    /// again.
    static let outageDelay = 10
    /// The pause in seconds between two requests to a queue that does not answer.
    static let retryPause: ClosedRange<Int> = 1...5
    /// Maximum length of an event's id and source in the log. Longer ones are cut off.
    static let maxLoggedCharacters = 256
    /// The sender of the queue's events.
    private static let grant = Grant(person: PersonID("sqs")!, role: .service)

    func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    let messages = try await self.queue.receive()
                    self.dependencies.record(.queue, isUp: true)
                    for message in messages { try await self.process(message) }
                } catch is CancellationError {
                    break
                } catch {
                    self.dependencies.record(.queue, isUp: false)
                    self.logger.warning("queue request failed; retrying", metadata: [LogKey.reason: "\(error)"])
                    try? await Task.sleep(for: .seconds(Int.random(in: Self.retryPause)))
                }
            }
        }
        await self.queue.shutdown()
    }

    /// - Throws: `EventQueue.Failure` if the message could not be deleted or returned. SQS delivers it again, and it is then
    ///   recognized as a repeat.
    private func process(_ message: EventQueue.Message) async throws {
        var logger = self.logger
        logger[metadataKey: LogKey.message] = "\(message.id)"
        do {
            let event: CloudEvent
            do throws(EventFault) { event = try message.event() } catch { throw self.routes.problem(error) }
            logger[metadataKey: LogKey.event] = "\(event.id.prefix(Self.maxLoggedCharacters))"
            logger[metadataKey: LogKey.eventSource] = "\(event.source.prefix(Self.maxLoggedCharacters))"
            let result = try await self.routes.process(event, Self.grant)
            guard !result.isReplicationUnconfirmed else {
                return try await self.queue.returnMessage(message, seconds: Self.outageDelay)
            }
        } catch let problem as Problem {
            problem.log("queue message failed with an internal error", logger)
            guard problem.isRetryable else {
                logger.warning("queue message rejected", metadata: [LogKey.reason: "\(problem.detail)"])
                return
            }
            let delay = problem.statusCode == 409 ? Self.notYetDelay : Self.outageDelay
            return try await self.queue.returnMessage(message, seconds: delay)
        }
        try await self.queue.delete(message)
    }
}
