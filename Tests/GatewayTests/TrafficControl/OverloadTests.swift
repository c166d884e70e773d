import EnrouteWire
import Foundation
import NIOCore
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime
@testable import WebSocket

/// An overloaded gateway.
@Suite(.needsMachine(for: .volume)) struct OverloadTests {
    @Test func `D6: handshakes are accepted at the configured rate, and none is refused`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                ($0.limits.newConnectionsPerSecond, $0.limits.newConnectionsBurst) = (20, 5)
            } _: { gateway in
                let token = try await gateway.token("anna", .service)
                let began = ContinuousClock.now
                try await blocking {
                    // All connect at the same time, and are accepted one after the other.
                    let sockets = try (0..<15).map { _ in
                        try RawSocket.upgraded(port: gateway.port, token: token)
                    }
                    for socket in sockets {
                        #expect(String(decoding: try socket.read(), as: UTF8.self).hasPrefix("HTTP/1.1 101 "))
                    }
                }
                // Ten more than the burst at twenty a second: no machine accepts them sooner.
                #expect(ContinuousClock.now - began >= .milliseconds(400))
            }
        }
    }

    @Test func `D7: above the memory limit the newest idle sessions are closed and told when to reconnect`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                $0.overload.memoryBytes = ProcessLoad.residentBytes + 256 << 20
                $0.overload.idleSeconds = 0
            } _: { gateway in
                let token = try await gateway.token("anna", .service)
                let sessions = try await blocking {
                    Boxed(try (0..<2).map { _ in try RawSocket.session(port: gateway.port, token: token) })
                }
                // The gateway runs in this process, so its memory is that of the process.
                let ballast = Ballast(bytes: 768 << 20)
                defer { withExtendedLifetime(ballast) {} }
                #expect(
                    try await gateway.eventually("/readyz") { $0.status == 503 && $0.text.contains("overloaded") })
                for index in sessions.value.indices {
                    let received = try await blocking { try sessions.value[index].readToEnd() }
                    #expect(String(decoding: received, as: UTF8.self).contains(#"{"type":"goaway","retryInMs":"#))
                    #expect(received.ends(with: Frame.close(4004, "gateway overloaded; retry later")))
                }
                #expect(try await gateway.eventually("/metrics") { $0.text.contains("enroute_sessions_shed_total 2") })
            }
        }
    }

    @Test func `a draining gateway tells each client when to reconnect, serves it until then, and closes with 4000`()
        async throws
    {
        try await within {
            let outcomes = Inboxed<[(retryIn: Int, received: String, isClosed: Bool)]>()
            try await RunningGateway.run(isSecure: false) {
                $0.drain = .seconds(2)
            } _: { gateway in
                let token = try await gateway.token("anna", .service)
                let sessions = try await blocking {
                    Boxed(try (0..<12).map { _ in try RawSocket.session(port: gateway.port, token: token) })
                }
                gateway.drain()
                outcomes.value = try await blocking {
                    try sessions.value.map { session in
                        var received = try session.readUntil(Array("}".utf8))
                        // Still served: a response arrives after the goaway.
                        let text = String(decoding: received, as: UTF8.self)
                        let retryIn = text.firstMatch(of: /"retryInMs":(\d+)/).flatMap { Int($0.1) } ?? -1
                        received += try session.readToEnd()
                        return (
                            retryIn, String(decoding: received, as: UTF8.self),
                            received.ends(with: Frame.close(4000, "going away"))
                        )
                    }
                }
            }
            let seen = try #require(outcomes.value)
            #expect(seen.allSatisfy { (0...1800).contains($0.retryIn) && $0.isClosed })
            // Twelve clients with the same time would reconnect as a thundering herd.
            #expect(Set(seen.map(\.retryIn)).count > 6)
        }
    }

    @Test func `B40: a session that reaches its maximum age is asked to reconnect, and by default there is none`()
        async throws
    {
        #expect(Limits().sessionAgeSeconds == 0)
        try await within {
            try await RunningGateway.run(isSecure: false) {
                $0.limits.sessionAgeSeconds = 1
            } _: { gateway in
                let token = try await gateway.token("anna", .service)
                let received = try await blocking {
                    let sessions = try (0..<4).map { _ in try RawSocket.session(port: gateway.port, token: token) }
                    return try sessions.map { try $0.readToEnd() }
                }
                for bytes in received {
                    #expect(String(decoding: bytes, as: UTF8.self).contains(#"{"type":"goaway","retryInMs":"#))
                    #expect(bytes.ends(with: Frame.close(4000, "going away")))
                }
                #expect(
                    try await gateway.eventually("/metrics") { $0.text.contains("enroute_sessions_expired_total 4\n") })
            }
        }
    }

    @Test func `a draining gateway answers the current request and accepts no other on its connection`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let socket = try await blocking {
                    let socket = try RawSocket(port: gateway.port)
                    try socket.send("GET /track/j1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    return Boxed((socket, try socket.readUntil(Array("</html>".utf8))))
                }
                #expect(String(decoding: socket.value.1, as: UTF8.self).hasPrefix("HTTP/1.1 200 "))
                gateway.drain()
                _ = try await blocking { try socket.value.0.readToEnd() }
            }
        }
    }

    @Test func `a draining gateway becomes unready before it stops accepting`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                $0.drain = .seconds(3)
            } _: { gateway in
                let token = try await gateway.token("anna", .service)
                let sessions = try await blocking {
                    Boxed(try (0..<8).map { _ in try RawSocket.session(port: gateway.port, token: token) })
                }
                gateway.drain()
                #expect(try await gateway.eventually("/readyz") { $0.status == 503 && $0.text.contains("stopping") })
                #expect(try await gateway.manage("/livez").status == 200)
                _ = sessions
            }
        }
    }
}

/// A value passed between threads, and used by one at a time.
final class Boxed<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}

/// Resident memory.
private final class Ballast {
    private let memory: UnsafeMutableRawBufferPointer

    init(bytes: Int) {
        self.memory = .allocate(byteCount: bytes, alignment: 4096)
        for place in stride(from: 0, to: bytes, by: 4096) { self.memory[place] = 1 }
    }

    deinit { self.memory.deallocate() }
}
