import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import Synchronization
import TestSupport
import Testing

/// The Swift code of the guide of EnrouteClient. Each block is here between two marks, and runs against a gateway.
@Suite struct SwiftGuideTests {
    // MARK: the code of the guides

    private static func follow(_ url: String, _ token: String, _ job: JobID) async throws {
        // block: follow
        try await GatewayConnection.open(url, token: token) { gateway in
            try await gateway.send(.subscribe(job: job, since: nil))
            for try await message in gateway.messages {
                switch message {
                case .subscribed(_, let snapshot): print("status", snapshot.status.rawValue)
                case .status(_, let event): print("status", event.status.rawValue)
                case .location(let location): print("at", location.fix.place.latitude, location.fix.place.longitude)
                case .eta(_, let estimate): print("arrives in", estimate.seconds ?? 0, "s")
                default: break
                }
            }
        }
        // end
    }

    private static func follow(_ url: String, link secret: String, _ job: JobID) async throws {
        // block: link
        try await GatewayConnection.open(url) { gateway in
            try await gateway.send(.auth(.link(secret)))
            try await gateway.send(.subscribe(job: job, since: nil))
            for try await message in gateway.messages {
                if case .subscribed(_, let snapshot) = message { print("status", snapshot.status.rawValue) }
            }
        }
        // end
    }

    private static func followAndReconnect(_ url: String, _ token: String, _ job: JobID) async throws {
        // block: reconnect
        var since: ResumePoint?
        var failures = 0
        while true {
            do {
                try await GatewayConnection.open(url, token: token) { gateway in
                    try await gateway.send(.subscribe(job: job, since: since))
                    for try await message in gateway.messages {
                        failures = 0
                        switch message {
                        case .subscribed(_, let snapshot), .reset(_, let snapshot):
                            since = ResumePoint(epoch: snapshot.epoch, id: snapshot.id)
                        case .status(_, let event): since = ResumePoint(epoch: event.epoch, id: event.id)
                        default: break
                        }
                        show(message)
                    }
                }
            } catch ClientError.closed(let code, _) where code < 4500 {
            } catch ClientError.connectionLost {
            } catch ClientError.unreachable {
            } catch ClientError.upgradeRefused(let status) where status == 429 || status == 503 {
            }
            failures += 1
            try await Task.sleep(for: .seconds(Double.random(in: 0...Double(min(30, 1 << min(failures, 5))))))
        }
        // end
    }

    private static func ride(_ url: String, _ token: String, _ job: JobID, _ fixes: AsyncStream<Fix>) async throws {
        // block: ride
        try await GatewayConnection.open(url, token: token) { gateway in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await message in gateway.messages {
                        if case .error(let refusal) = message { print(refusal.code, refusal.message) }
                    }
                }
                try await gateway.send(.travel(job: job, active: true))
                var sequence: Int64 = 0
                for await fix in fixes {
                    sequence += 1
                    try await gateway.send(.location(LocationReport(job: job, sequence: sequence, fixes: [fix])))
                }
                try await gateway.send(.travel(job: job, active: false))
                group.cancelAll()
            }
        }
        // end
    }

    // MARK: what it prints

    @TaskLocal private static var output = Output()

    private final class Output: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { self.lines.withLock { $0 } }
        func add(_ line: String) { self.lines.withLock { $0.append(line) } }
    }

    private static func print(_ items: Any...) {
        self.output.add(items.map { "\($0)" }.joined(separator: " "))
    }

    private static func show(_ message: ServerMessage) {
        switch message {
        case .subscribed(_, let snapshot): self.print("snapshot", snapshot.status.rawValue)
        case .status(_, let event): self.print("status", event.status.rawValue)
        default: break
        }
    }

    /// Runs the guide's code beside `body`, which gets the code's output, until `body` is done.
    private static func beside(
        _ code: @escaping @Sendable () async throws -> Void, _ body: (Output) async throws -> Void
    ) async throws {
        let output = Output()
        let running = Self.$output.withValue(output) { Task { try await code() } }
        let result = await Result { try await body(output) }
        running.cancel()
        _ = await running.result
        try result.get()
    }

    // MARK: tests

    @Test func `the Swift blocks of the guide are the code of this file`() throws {
        let source = try String(contentsOfFile: #filePath, encoding: .utf8)
        let marked = source.matches(of: /(?s)\n( *)\/\/ block: \w+\n(.*?)\n *\/\/ end\n/).map { match in
            match.2.split(separator: "\n", omittingEmptySubsequences: false)
                .map { $0.dropFirst(match.1.count) }.joined(separator: "\n")
        }
        var blocks = 0
        let document = "Sources/EnrouteClient/README.md"
        let text = try String(contentsOf: Checkout.root.appending(path: document), encoding: .utf8)
        for block in text.matches(of: /(?s)```swift\n(.*?)\n```/) {
            blocks += 1
            let code = String(block.1)
            #expect(marked.contains(code), "\(document):\n\(code)")
        }
        #expect(blocks == marked.count)
    }

    @Test func `a follower's code prints statuses, locations and arrival times`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, ArrivalTimesTests.settings) { gateway in
                let job = try await gateway.travellingJob("visit-1")
                let (url, token) = (gateway.url, try await gateway.token("anna", .customer))
                try await Self.beside {
                    try await Self.follow(url, token, job)
                } _: { output in
                    try await becomes("the snapshot is printed") { output.all.contains("status on_the_way") }
                    let (fixes, sending) = AsyncStream.makeStream(of: Fix.self)
                    let rider = try await gateway.token("rider-1", .rider)
                    try await Self.beside {
                        try await Self.ride(url, rider, job, fixes)
                    } _: { errors in
                        let place = Coordinate(latitude: 41.91, longitude: 12.5)!
                        sending.yield(Fix(at: Int64(Date.now.timeIntervalSince1970 * 1000), place: place))
                        try await becomes("the location is printed") { output.all.contains("at 41.91 12.5") }
                        try await becomes("the arrival is printed") {
                            output.all.contains { $0.hasPrefix("arrives in") }
                        }
                        #expect(errors.all == [])
                        sending.finish()
                    }
                    _ = try await gateway.ledger.publish(
                        .workInProgress, of: job, by: PersonID("service")!, source: "event"
                    ).get()
                    try await becomes("the status is printed") { output.all.contains("status work_in_progress") }
                }
            }
        }
    }

    @Test func `code that signs in with a tracking link prints the status`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                let created = try await gateway.rest("POST", "/api/v1/jobs/job-1/links", by: "anna", .customer, "{}")
                let secret = try #require(created.member("link", as: String.self))
                let url = gateway.url
                try await Self.beside {
                    try await Self.follow(url, link: secret, job)
                } _: { output in
                    try await becomes("the snapshot is printed") { output.all == ["status on_the_way"] }
                }
            }
        }
    }

    @Test func `code that reconnects shows a status that was published while it was disconnected`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.limits.sessionAgeSeconds = 1 }) { gateway in
                let job = try await gateway.travellingJob()
                let (url, token) = (gateway.url, try await gateway.token("anna", .customer))
                try await Self.beside {
                    try await Self.followAndReconnect(url, token, job)
                } _: { output in
                    try await becomes("the snapshot is shown twice") {
                        output.all.count { $0.hasPrefix("snapshot") } > 1
                    }
                    _ = try await gateway.ledger.publish(
                        .workInProgress, of: job, by: PersonID("service")!, source: "event"
                    ).get()
                    try await becomes("the status is shown") {
                        output.all.contains { $0.hasSuffix("work_in_progress") }
                    }
                }
            }
        }
    }
}
