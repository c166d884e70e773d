// A service changes the status of a job by REST on a kept-alive connection, and the job's follower receives the change. The
// job alternates between two statuses.

import EnrouteClient
import EnrouteWire

struct StatusScene: Scene {
    let kind = Stage.Kind.lockstep
    let figures = ["status_change"]

    private static let statuses = ["preparing", "allocation_failed"]

    func measure(on stage: Stage, _ scale: Scale) async throws -> [Figure] {
        let service = try stage.restConnection("service", "orders")
        guard let job = JobID("changed-job") else { throw BenchFailure("invalid job id") }
        try service.perform("POST", "jobs", #"{"job":"\#(job.text)","kind":"delivery","customer":"recipient"}"#)
        func change(to status: String) throws {
            try service.perform("POST", "jobs/\(job.text)/status", #"{"status":"\#(status)"}"#)
        }
        try change(to: "accepted")
        let token = try stage.token("customer", "recipient")
        return try await Clients.with(stage) { clients in
            let follower = try await clients.follow(job, token: token)
            var changes = 0
            let profile = try await stage.callgrind.cost(of: scale.repetitions, warmUp: Scale.warmUp) { count in
                for _ in 0..<count {
                    try change(to: Self.statuses[changes % Self.statuses.count])
                    changes += 1
                    try await clients.expect { if case .status(job) = $0 { true } else { false } }
                }
            }
            try await clients.perform(.unsubscribe(job: job), on: follower)
            return [Figure(self.figures[0], profile)]
        }
    }
}
