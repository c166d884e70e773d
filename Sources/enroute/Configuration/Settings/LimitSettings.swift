// Settings of the limits that apply to clients. Each belongs to a member of `Limits`, which contains its default. The
// protocol documents what happens at each limit.

import EnrouteWire
import Gateway

/// A setting of one member of `Limits`.
struct LimitSetting: Sendable {
    let setting: Setting
    let path: any WritableKeyPath<Limits, Int> & Sendable

    private init(
        _ name: String, _ path: any WritableKeyPath<Limits, Int> & Sendable, _ range: ClosedRange<Int>, _ unit: String,
        _ summary: String
    ) {
        self.path = path
        self.setting = Setting(
            Self.prefix + name, .integer(range, unit: unit), default: .number(Limits()[keyPath: path]), summary)
    }

    static let prefix = SettingsTable.prefix + "LIMIT_"

    /// The name that the protocol uses.
    var shortName: String { String(self.setting.name.dropFirst(Self.prefix.count)) }

    static let all = messages + waiting + amounts + rates

    private static let messages = [
        LimitSetting("MESSAGE_BYTES", \.messageBytes, 512...1_048_576, "bytes", "Size of one WebSocket message."),
        LimitSetting("MESSAGE_FRAGMENTS", \.messageFragments, 1...1024, "", "Frames of one WebSocket message."),
        LimitSetting(
            "MESSAGES_BEFORE_SIGN_IN", \.messagesBeforeSignIn, 1...1000, "",
            "Messages that a client may send before `welcome`."),
        LimitSetting(
            "MALFORMED_MESSAGES", \.malformedMessages, 0...1000, "", "Malformed messages that a connection may send."),
    ]

    private static let waiting = [
        LimitSetting(
            "PROXY_HEADER_SECONDS", \.proxyHeaderSeconds, 1...60, "seconds", "Time for a PROXY protocol header."),
        LimitSetting("TLS_HANDSHAKE_SECONDS", \.tlsHandshakeSeconds, 1...60, "seconds", "Time for the TLS handshake."),
        LimitSetting(
            "REQUEST_HEAD_SECONDS", \.requestHeadSeconds, 1...60, "seconds", "Time for the head of an HTTP request."),
        LimitSetting(
            "REQUEST_BODY_SECONDS", \.requestBodySeconds, 1...3600, "seconds", "Time for the body of an HTTP request."),
        LimitSetting("SIGN_IN_SECONDS", \.signInSeconds, 1...60, "seconds", "Time for signing in on a WebSocket."),
        LimitSetting(
            "PING_INTERVAL_SECONDS", \.pingSeconds, 1...3600, "seconds", "Silence after which the gateway sends a ping."
        ),
        LimitSetting("PONG_TIMEOUT_SECONDS", \.pongSeconds, 1...60, "seconds", "Time for the pong that answers it."),
        LimitSetting(
            "SESSION_AGE_SECONDS", \.sessionAgeSeconds, 0...604_800, "seconds; 0 for no limit",
            "Maximum age of a session; each is moved at a random age between half of it and all of it."),
        LimitSetting(
            "WRITE_STALL_SECONDS", \.writeStallSeconds, 1...600, "seconds",
            "Time without progress after which a client that does not read is disconnected."),
        LimitSetting(
            "MIN_RESPONSE_BYTES_PER_SECOND", \.minResponseBytesPerSecond, 0...1_000_000, "bytes; 0 for no minimum",
            "Slowest rate at which a client may read a waiting HTTP response."),
    ]

    private static let amounts = [
        LimitSetting("SUBSCRIPTIONS", \.subscriptions, 1...10_000, "", "Jobs that one connection may follow."),
        LimitSetting(
            "OPERATIONS_SUBSCRIPTIONS", \.operationsSubscriptions, 1...10_000, "",
            "The same for the roles `ops` and `service`."),
        LimitSetting("WATCHED_ZONES", \.watchedZones, 1...1000, "", "Zones that one connection may watch."),
        LimitSetting(
            "POOL_QUEUE_BYTES", \.poolQueueBytes, 65_536...1_073_741_824, "bytes",
            "Unsent data of a connection that watches a zone."),
        LimitSetting(
            "QUEUE_BYTES", \.queueBytes, 4096...16_777_216, "bytes", "Unsent data of any other connection."),
        LimitSetting(
            "SOCKET_SEND_BYTES", \.socketSendBytes, 4096...16_777_216, "bytes", "The kernel's send buffer of a socket."),
        LimitSetting(
            "SESSIONS_PER_PERSON", \.sessionsPerPerson, 0...1_000_000, "0 for no limit",
            "Sessions of one person on a gateway; services have no limit."),
        LimitSetting(
            "SESSIONS_PER_ADDRESS", \.sessionsPerAddress, 0...1_000_000, "0 for no limit",
            "Sessions of one IP address (IPv6: one /64) on a gateway."),
        LimitSetting(
            "CONNECTIONS_PER_ADDRESS", \.connectionsPerAddress, 0...1_000_000, "0 for no limit",
            "Connections of one address on a gateway, including those of REST and pages."),
        LimitSetting(
            "PICKUP_DISTANCE_KM", \.pickupKilometers, 0...20_100, "kilometers; 0 for no limit",
            "Distance from pickup to destination; a longer one suggests swapped coordinates."),
        LimitSetting(
            "ZONE_DISTANCE_KM", \.zoneKilometers, 0...20_100, "kilometers; 0 for no limit",
            "Distance of pickup and destination from the riders and jobs of the zone; a wider zone accepts more."),
    ]

    private static let rates = [
        LimitSetting(
            "POSITIONS_PER_SECOND", \.positionsPerSecond, 1...1000, "",
            "Location reports published for one connection, each for all its jobs; newer ones replace those that wait."),
        LimitSetting("POSITIONS_BURST", \.positionsBurst, 1...1000, "", "Burst of that rate."),
        LimitSetting(
            "AVAILABILITY_CHANGES_PER_MINUTE", \.availabilityPerMinute, 1...100_000, "",
            "Times a minute that a rider may go online or offline."),
        LimitSetting("MESSAGES_PER_SECOND", \.messagesPerSecond, 1...100_000, "", "Messages of one connection."),
        LimitSetting("MESSAGES_BURST", \.messagesBurst, 1...100_000, "", "Burst of that rate."),
        LimitSetting(
            "MESSAGES_PER_PERSON_PER_SECOND", \.messagesPerPersonPerSecond, 1...1_000_000, "",
            "Messages of one person, on each event loop."),
        LimitSetting(
            "MESSAGES_PER_PERSON_BURST", \.messagesPerPersonBurst, 1...1_000_000, "", "Burst of that rate."),
        LimitSetting(
            "MESSAGES_PER_ADDRESS_PER_SECOND", \.messagesPerAddressPerSecond, 0...1_000_000, "0 for no limit",
            "Messages of one address, on each event loop."),
        LimitSetting(
            "MESSAGES_PER_ADDRESS_BURST", \.messagesPerAddressBurst, 0...1_000_000, "", "Burst of that rate."),
        LimitSetting(
            "REQUESTS_PER_PERSON_PER_SECOND", \.requestsPerPersonPerSecond, 1...100_000, "",
            "REST requests of one person; services have no limit."),
        LimitSetting(
            "REQUESTS_PER_PERSON_BURST", \.requestsPerPersonBurst, 1...100_000, "", "Burst of that rate."),
        LimitSetting(
            "REFUSED_TOKENS_PER_ADDRESS_PER_SECOND", \.refusedTokensPerAddressPerSecond, 0...100_000,
            "0 for no limit",
            "Refused tokens of one address."),
        LimitSetting(
            "REFUSED_TOKENS_PER_ADDRESS_BURST", \.refusedTokensPerAddressBurst, 0...100_000, "", "Burst of that rate."),
        LimitSetting(
            "ANONYMOUS_REQUESTS_PER_ADDRESS_PER_SECOND", \.anonymousRequestsPerAddressPerSecond, 0...100_000,
            "0 for no limit",
            "Requests of one address without a credential, such as redeeming a sign-in code."),
        LimitSetting(
            "ANONYMOUS_REQUESTS_PER_ADDRESS_BURST", \.anonymousRequestsPerAddressBurst, 0...100_000, "",
            "Burst of that rate."),
        LimitSetting(
            "TILES_PER_ADDRESS_PER_SECOND", \.tilesPerAddressPerSecond, 0...100_000, "0 for no limit",
            "Map tiles requested by one address."),
        LimitSetting("TILES_PER_ADDRESS_BURST", \.tilesPerAddressBurst, 0...100_000, "", "Burst of that rate."),
        LimitSetting(
            "NEW_CONNECTIONS_PER_SECOND", \.newConnectionsPerSecond, 0...1_000_000, "0 for no limit",
            "New connections that a gateway accepts; more wait in the kernel."),
        LimitSetting("NEW_CONNECTIONS_BURST", \.newConnectionsBurst, 1...1_000_000, "", "Burst of that rate."),
    ]
}

extension SettingsTable {
    static let limits = SettingGroup(
        "Limits",
        """
        Limits of a connection, a person or an address. Rates refill steadily up to their burst. [limits.md](../Sources/EnrouteWire/protocol/limits.md) documents
        what happens at each limit.
        """,
        LimitSetting.all.map(\.setting))
}
