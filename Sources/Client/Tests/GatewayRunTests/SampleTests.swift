// The samples and the example of the main README, run against a real gateway.

import Foundation
import Subprocess
import SystemPackage
import Testing

@testable import Enroute

@Suite(.enabled(if: Stage.isBuilt), .serialized, .timeLimit(.minutes(5))) struct SampleTests {
    private static let job: JobID = "visit-1"
    /// The folder of the test program, which contains the samples.
    private static let products = URL(filePath: ProcessInfo.processInfo.arguments[0]).deletingLastPathComponent()

    private func visit(_ stage: Stage) async throws -> RESTClient {
        let service = try await stage.client(role: "service", "orders").rest
        try await service.createJob(.init(Self.job, kind: .service, customer: "anna", rider: "rider-7"))
        try await service.changeStatus(of: Self.job, to: .onTheWay)
        return service
    }

    /// Runs a sample to its end and adds each line that it prints.
    private static func run(_ name: String, _ stage: Stage, _ token: String, _ lines: Lines) async throws {
        let program = Self.products.appending(path: name).path
        let outcome = try await Subprocess.run(
            // Without stdbuf, the sample would write its output at its end.
            .name("stdbuf"), arguments: ["-oL", program, stage.url.absoluteString, Self.job.rawValue, token],
            input: .none, output: .sequence, error: .discarded
        ) { for try await line in $0.standardOutput.strings() { lines.add(line) } }
        #expect(outcome.terminationStatus.isSuccess, "\(name)")
    }

    @Test func `the samples of a rider and a follower see each other`() async throws {
        try await Stage.open { stage in
            let service = try await self.visit(stage)
            let (customer, rider) = (
                try await stage.token("customer", "anna"), try await stage.token("rider", "rider-7")
            )
            let (followed, ridden) = (Lines(), Lines())
            async let following: Void = Self.run("follower-sample", stage, customer, followed)
            try await until("the visit is followed") { !followed.all.isEmpty }
            // This sample ends when the rider has arrived.
            try await Self.run("rider-sample", stage, rider, ridden)
            try await service.changeStatus(of: Self.job, to: .workInProgress)
            try await service.changeStatus(of: Self.job, to: .completed)
            try await following
            let lines = followed.all
            #expect(lines.first == "on_the_way waiting - none" && lines.last == "over", "\(lines)")
            // The gateway requests a report every few seconds.
            let places = lines.filter { $0.hasPrefix("on_the_way live 41.9") }
            #expect(places.count >= 2 && lines.contains("on_the_way paused - none"), "\(lines)")
        }
    }

    /// Follows `visit-1` until the closure `print` throws. The body is the example; the configuration is a parameter.
    private static func follow(
        _ configuration: EnrouteClient.Configuration, print: (Any...) throws -> Void
    ) async throws {
        let client = EnrouteClient(configuration)
        // README.md starts here.
        await client.start()
        for try await view in client.job("visit-1") {
            try print(view.status.rawValue, view.tracking, view.position?.place as Any, ArrivalPhrase(view))
        }
        // README.md ends here.
    }

    @Test func `the Swift example of the main README follows a job to its end`() async throws {
        try await Stage.open { stage in
            let service = try await self.visit(stage)
            let token = try await stage.token("customer", "anna")
            let printed = Lines()
            let configuration = EnrouteClient.Configuration(gateway: stage.url, transport: stage.transport) {
                .token(token)
            }
            async let following: Void = Self.follow(configuration) { parts in
                printed.add(parts.map { "\($0)" }.joined(separator: " "))
            }
            try await until("it is followed") { printed.all.count == 1 }
            try await service.changeStatus(of: Self.job, to: .workInProgress)
            try await service.changeStatus(of: Self.job, to: .completed)
            try await following
            #expect(printed.all.first == "on_the_way waiting nil none")
            #expect(printed.all.last?.hasPrefix("completed") == true, "\(printed.all)")
        }
    }

    @Test func `the Swift example of the main README is the code above`() throws {
        let readme = try String(contentsOf: Stage.repository.appending(path: "README.md"), encoding: .utf8)
        let example = try #require(readme.firstMatch(of: /```swift\n((?s).*?)```/)).output.1
        let source = try String(contentsOfFile: #filePath, encoding: .utf8)
        let code = try #require(
            source.firstMatch(of: /\n +\/\/ README\.md starts here\.\n((?s).*?)\n +\/\/ README\.md ends here\./)
        ).output.1
        func lines(_ text: Substring) -> [String] {
            text.split(separator: "\n").map {
                $0.replacing(/\s+\/\/ your sign-in|\s+\/\/ reconnects.*/, with: "").trimmingCharacters(in: .whitespaces)
            }
        }
        let run = Array(lines(example).drop { !$0.hasPrefix("await client.start()") })
        #expect(run == lines(code).map { $0.replacing("try print(", with: "print(") })
    }
}

/// Lines that were printed, from any task.
final class Lines: Sendable {
    private let lines = Locked<[String]>([])

    var all: [String] { self.lines.value }

    func add(_ line: String) { self.lines.change { $0.append(line) } }
}

/// `@unchecked Sendable`: a lock guards the value.
final class Locked<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var guarded: Value

    init(_ value: Value) { self.guarded = value }

    var value: Value { self.lock.withLock { self.guarded } }

    func change(_ body: (inout Value) -> Void) { self.lock.withLock { body(&self.guarded) } }
}
