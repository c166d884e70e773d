import Foundation
import Testing

@testable import Embedded

/// The length of a socket path is limited, and a long TMPDIR exceeds the limit.
@Suite struct SocketPathTests {
    @Test func `a socket path that is too long is rejected with advice`() throws {
        #expect(throws: Never.self) { try RedisServer.check("/" + String(repeating: "a", count: 102)) }
        let failure = try #require(throws: RedisServer.Failure.self) {
            try RedisServer.check("/" + String(repeating: "a", count: 103))
        }
        #expect("\(failure)".contains("104 bytes") && "\(failure)".contains("Set TMPDIR to a shorter path."))
    }
}
