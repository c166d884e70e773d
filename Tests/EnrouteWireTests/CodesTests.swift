import EnrouteWire
import Testing

@Suite struct CloseCodeTests {
    @Test func `B3: clients reconnect after 4000 to 4499 and not after 4500 to 4999, without exception`() {
        for code in UInt16(4000)...4999 { #expect(CloseCode.reconnects(after: code) == (code < 4500), "\(code)") }
        // If both devices of a rider reconnected, they would close each other's session forever.
        #expect(!CloseCode.reconnects(after: CloseCode.replaced.rawValue))
        #expect(CloseCode.reconnects(after: CloseCode.connectionLimit.rawValue))
    }

    @Test func `clients reconnect after every code of RFC 6455, also after a protocol error of their own`() {
        for code in UInt16(1000)...1015 { #expect(CloseCode.reconnects(after: code), "\(code)") }
    }

    @Test func `the codes are the ones the protocol lists`() {
        #expect(
            CloseCode.allCases.map(\.rawValue) == [
                1000, 1002, 1003, 1007, 1009, 1011, 4000, 4001, 4002, 4003, 4004, 4005, 4006, 4008, 4009, 4500, 4502,
                4503, 4505, 4506,
            ])
    }
}

@Suite struct ErrorCodeTests {
    @Test func `only temporary errors are retryable`() {
        #expect(
            ErrorCode.allCases.filter(\.isRetryable) == [.rateLimited, .requestInProgress, .unavailable, .internal])
    }

    @Test func `the names are lower-case words joined by underscores`() {
        for code in ErrorCode.allCases {
            #expect(code.rawValue.utf8.allSatisfy { (97...122).contains($0) || $0 == 95 }, "\(code)")
        }
    }
}

@Suite struct DefaultLimitsTests {
    @Test func `the defaults are the ones the protocol states`() {
        let limits = Limits()
        #expect(limits.messageBytes == 4096)
        #expect(limits.messageFragments == 16)
        #expect(limits.subscriptions == 10)
        #expect(limits.operationsSubscriptions == 200)
        #expect(
            [limits.requestHeadSeconds, limits.signInSeconds, limits.pingSeconds, limits.pongSeconds] == [
                5, 5, 25, 10,
            ])
        #expect([limits.positionsPerSecond, limits.positionsBurst] == [2, 5])
        #expect(limits.queueBytes == 65_536)
        #expect(Limits.subprotocol == "enroute.v1")
    }
}
