import Access
import EnrouteClient
import EnrouteWire
import Foundation
import NIOConcurrencyHelpers
import TestSupport
import Testing

/// The Swift example of README.md, executed against a gateway.
@Suite struct ReadmeExampleTests {
    /// Follows `visit-1` until the closure `print` throws. The body is the example; only the address is a parameter.
    private static func follow(
        _ url: String, token: String, print: @Sendable (any Sendable...) throws -> Void
    ) async throws {
        // README.md starts here.
        try await GatewayConnection.open(url, token: token) { gateway in
            try await gateway.send(.subscribe(job: JobID("visit-1")!, since: nil))
            for try await message in gateway.messages {
                if case .subscribed(_, let snapshot) = message { try print(snapshot.status, snapshot.tracking) }
                if case .status(_, let event) = message { try print(event.status) }
                if case .location(let location) = message {
                    try print(location.fix.place.latitude, location.fix.place.longitude)
                }
            }
        }
        // README.md ends here.
    }

    private struct Enough: Error {}

    @Test func `the Swift example of the README follows a rider`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, ArrivalTimesTests.settings) { gateway in
                let job = try await gateway.travellingJob("visit-1")
                let token = try await gateway.token("anna", .customer)
                let printed = NIOLockedValueBox<[String]>([])
                try await gateway.connect("rider-1", .rider) { rider, answers in
                    try await rider.send(.travel(job: job, active: true))
                    _ = try await answers.travelAnswer()
                    async let following: Void = Self.follow(gateway.url, token: token) { (values: any Sendable...) in
                        let count = printed.withLockedValue { lines in
                            lines.append(values.map { "\($0)" }.joined(separator: " "))
                            return lines.count
                        }
                        if count == 2 { throw Enough() }
                    }
                    let isFollowing = await eventually { printed.withLockedValue { $0.count == 1 } }
                    try #require(isFollowing)
                    try await rider.report(job, step: 1)
                    do { try await following } catch is Enough {}
                }
                let lines = printed.withLockedValue { $0 }
                #expect(lines.first?.hasPrefix("onTheWay") == true, "\(lines)")
                #expect(lines.count == 2 && lines[1].contains(/^\d+\.\d+ \d+\.\d+$/), "\(lines)")
            }
        }
    }

    @Test func `the Swift example of the README is the code above`() throws {
        let readme = try String(contentsOf: Checkout.root.appending(path: "README.md"), encoding: .utf8)
        let example = try #require(readme.firstMatch(of: /```swift\n((?s).*?)```/)).output.1
        let source = try String(contentsOfFile: #filePath, encoding: .utf8)
        let code = try #require(
            source.firstMatch(of: /\n +\/\/ README\.md starts here\.\n((?s).*?)\n +\/\/ README\.md ends here\./)
        ).output.1
        func lines(_ text: Substring) -> [String] {
            text.split(separator: "\n").filter { !$0.hasPrefix("import ") }
                .map { $0.trimmingCharacters(in: .whitespaces) }
        }
        #expect(
            lines(example).map { $0.replacing(#""wss://track.example""#, with: "url") }
                == lines(code).map { $0.replacing("try print(", with: "print(") })
    }
}
