// An open, signed-in connection subscribes to its first job, which nobody else follows.

import EnrouteClient
import EnrouteWire

struct SubscriptionScene: Scene {
    let kind = Stage.Kind.lockstep
    let figures = ["subscription"]

    /// Of the repetitions in lockstep: every one needs a connection.
    private static let share = 5
    private static let warmUp = 10

    func measure(on stage: Stage, _ scale: Scale) async throws -> [Figure] {
        let service = try stage.restConnection("service", "orders")
        let token = try stage.token("customer", "subscriber")
        let count = scale.repetitions / Self.share
        return try await Clients.with(stage) { clients in
            var waiting: [(job: JobID, connection: GatewayConnection)] = []
            // As many as `cost` performs in its three series.
            for number in 100..<100 + count + 3 * Self.warmUp {
                guard let job = JobID("subscribed-\(number)") else { throw BenchFailure("invalid job id") }
                try service.perform(
                    "POST", "jobs",
                    #"{"job":"\#(job.text)","kind":"service","customer":"subscriber","rider":"rider-\#(number)"}"#)
                waiting.append((job, try await clients.connect(token)))
            }
            var subscribed: [(job: JobID, connection: GatewayConnection)] = []
            let profile = try await stage.callgrind.cost(of: count, warmUp: Self.warmUp) { count in
                for _ in 0..<count {
                    let next = waiting.removeFirst()
                    try await clients.subscribe(next.connection, to: next.job)
                    subscribed.append(next)
                }
            } betweenSeries: {
                // Otherwise the gateway would check these jobs from time to time.
                for (job, connection) in subscribed {
                    try await clients.perform(.unsubscribe(job: job), on: connection)
                }
                subscribed = []
            }
            return [Figure(self.figures[0], profile)]
        }
    }
}
