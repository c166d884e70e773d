import Foundation
import Testing

@testable import Embedded

/// The path of a socket has a bound, which a long TMPDIR exceeds.
@Suite struct SocketPathTests {
    @Test func `a path that is too long for a socket is refused with what to do`() throws {
        #expect(throws: Never.self) { try RedisServer.check("/" + String(repeating: "a", count: 102)) }
        let failure = try #require(throws: RedisServer.Failure.self) {
            try RedisServer.check("/" + String(repeating: "a", count: 103))
        }
        #expect("\(failure)".contains("104 bytes") && "\(failure)".contains("Set TMPDIR to a shorter path."))
    }
}
