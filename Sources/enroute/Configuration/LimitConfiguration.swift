// Bounds from the configuration: each of `Limits` has a name there, and a range in which it makes sense.

import EnrouteWire
import Gateway
import TrafficControl

/// One limit that can be configured.
struct LimitSetting: Sendable {
    /// Without `ENROUTE_LIMIT_`.
    let name: String
    let path: any WritableKeyPath<Limits, Int> & Sendable
    let range: ClosedRange<Int>

    init(_ name: String, _ path: any WritableKeyPath<Limits, Int> & Sendable, _ range: ClosedRange<Int>) {
        self.name = name
        self.path = path
        self.range = range
    }

    static let all = [
        LimitSetting("MESSAGE_BYTES", \.messageBytes, 512...1_048_576),
        LimitSetting("MESSAGE_FRAGMENTS", \.messageFragments, 1...1024),
        LimitSetting("MESSAGES_BEFORE_SIGN_IN", \.signInMessages, 1...1000),
        LimitSetting("MALFORMED_MESSAGES", \.badMessages, 0...1000),
        LimitSetting("TLS_HANDSHAKE_SECONDS", \.handshakeSeconds, 1...60),
        LimitSetting("REQUEST_HEAD_SECONDS", \.firstRequestSeconds, 1...60),
        LimitSetting("REQUEST_BODY_SECONDS", \.bodySeconds, 1...3600),
        LimitSetting("SIGN_IN_SECONDS", \.signInSeconds, 1...60),
        LimitSetting("PING_INTERVAL_SECONDS", \.pingSeconds, 1...3600),
        LimitSetting("PONG_TIMEOUT_SECONDS", \.pongSeconds, 1...60),
        LimitSetting("SESSION_AGE_SECONDS", \.sessionAgeSeconds, 0...604_800),
        LimitSetting("WRITE_STALL_SECONDS", \.stallSeconds, 1...600),
        LimitSetting("MIN_RESPONSE_BYTES_PER_SECOND", \.answerBytesPerSecond, 0...1_000_000),
        LimitSetting("SUBSCRIPTIONS", \.subscriptions, 1...10_000),
        LimitSetting("OPERATIONS_SUBSCRIPTIONS", \.operationsSubscriptions, 1...10_000),
        LimitSetting("WATCHED_ZONES", \.watchedZones, 1...1000),
        LimitSetting("POOL_QUEUE_BYTES", \.poolQueueBytes, 65_536...1_073_741_824),
        LimitSetting("QUEUE_BYTES", \.queueBytes, 4096...16_777_216),
        LimitSetting("SOCKET_SEND_BYTES", \.socketSendBytes, 4096...16_777_216),
        LimitSetting("SESSIONS_PER_PERSON", \.sessionsPerPerson, 0...1_000_000),
        LimitSetting("SESSIONS_PER_ADDRESS", \.sessionsPerAddress, 0...1_000_000),
        LimitSetting("CONNECTIONS_PER_ADDRESS", \.connectionsPerAddress, 0...1_000_000),
        LimitSetting("PICKUP_DISTANCE_KM", \.pickupKilometers, 0...20_100),
        LimitSetting("POSITIONS_PER_SECOND", \.positionsPerSecond, 1...1000),
        LimitSetting("POSITIONS_BURST", \.positionsBurst, 1...1000),
        LimitSetting("AVAILABILITY_CHANGES_PER_MINUTE", \.availabilityPerMinute, 1...100_000),
        LimitSetting("MESSAGES_PER_SECOND", \.messagesPerSecond, 1...100_000),
        LimitSetting("MESSAGES_BURST", \.messagesBurst, 1...100_000),
        LimitSetting("MESSAGES_PER_PERSON_PER_SECOND", \.messagesPerPersonPerSecond, 1...1_000_000),
        LimitSetting("MESSAGES_PER_PERSON_BURST", \.messagesPerPersonBurst, 1...1_000_000),
        LimitSetting("MESSAGES_PER_ADDRESS_PER_SECOND", \.messagesPerAddressPerSecond, 0...1_000_000),
        LimitSetting("MESSAGES_PER_ADDRESS_BURST", \.messagesPerAddressBurst, 0...1_000_000),
        LimitSetting("REQUESTS_PER_PERSON_PER_SECOND", \.requestsPerPersonPerSecond, 1...100_000),
        LimitSetting("REQUESTS_PER_PERSON_BURST", \.requestsPerPersonBurst, 1...100_000),
        LimitSetting("REFUSED_TOKENS_PER_ADDRESS_PER_SECOND", \.refusalsPerAddressPerSecond, 0...100_000),
        LimitSetting("REFUSED_TOKENS_PER_ADDRESS_BURST", \.refusalsPerAddressBurst, 0...100_000),
        LimitSetting("ANONYMOUS_REQUESTS_PER_ADDRESS_PER_SECOND", \.visitsPerAddressPerSecond, 0...100_000),
        LimitSetting("ANONYMOUS_REQUESTS_PER_ADDRESS_BURST", \.visitsPerAddressBurst, 0...100_000),
        LimitSetting("TILES_PER_ADDRESS_PER_SECOND", \.tilesPerAddressPerSecond, 0...100_000),
        LimitSetting("TILES_PER_ADDRESS_BURST", \.tilesPerAddressBurst, 0...100_000),
        LimitSetting("NEW_CONNECTIONS_PER_SECOND", \.handshakesPerSecond, 0...1_000_000),
        LimitSetting("NEW_CONNECTIONS_BURST", \.handshakesBurst, 1...1_000_000),
    ]
}

extension Limits {
    /// Bounds of an address for which 0 per second is configured are no bounds: `Limits` says so with the burst.
    fileprivate mutating func switchOffWithoutRate() {
        if self.messagesPerAddressPerSecond == 0 { self.messagesPerAddressBurst = 0 }
        if self.refusalsPerAddressPerSecond == 0 { self.refusalsPerAddressBurst = 0 }
        if self.visitsPerAddressPerSecond == 0 { self.visitsPerAddressBurst = 0 }
        if self.tilesPerAddressPerSecond == 0 { self.tilesPerAddressBurst = 0 }
    }
}

extension ProcessConfiguration {
    func limits() throws -> Limits {
        var limits = Limits()
        for setting in LimitSetting.all {
            limits[keyPath: setting.path] = try self.integer(
                "ENROUTE_LIMIT_\(setting.name)", in: setting.range, default: limits[keyPath: setting.path])
        }
        limits.switchOffWithoutRate()
        return limits
    }

    func overload() throws -> OverloadBounds {
        var bounds = OverloadBounds()
        bounds.loopLagMilliseconds = try self.integer(
            "ENROUTE_OVERLOAD_LOOP_LAG_MS", in: 1...60_000, default: bounds.loopLagMilliseconds)
        bounds.descriptorPercent = try self.integer(
            "ENROUTE_OVERLOAD_DESCRIPTOR_PERCENT", in: 1...100, default: bounds.descriptorPercent)
        bounds.memoryBytes = try self.integer("ENROUTE_OVERLOAD_MEMORY_MB", in: 0...1_048_576, default: 0) * 1_048_576
        return bounds
    }

    /// Where probes and metrics are asked for.
    func management() throws -> (host: String, port: Int)? {
        guard try self.choice("ENROUTE_MANAGEMENT", ["on", "off"]) == "on" else { return nil }
        return (
            Self.unbracketed(self.text("ENROUTE_MANAGEMENT_HOST") ?? "127.0.0.1"),
            try self.integer("ENROUTE_MANAGEMENT_PORT", in: 0...65535, default: 9464)
        )
    }
}
