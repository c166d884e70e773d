// Every limit a client can exceed, with its unit and the consequence. protocol/limits.md lists the same limits.

/// The limits of a connection, of a person and of an address. Rates refill steadily up to their burst.
public struct Limits: Hashable, Sendable {
    // MARK: one message

    /// Maximum length of a client message in bytes. A longer one is refused at its frame header, and the session is
    /// closed with 1009.
    public var messageBytes = 4096
    /// Maximum number of frames of a message. More are refused at the frame header, and the session is closed with
    /// 1009.
    public var messageFragments = 16
    /// Messages that are queued, in order, while the credential is checked. After one more, the session is closed with
    /// 4006.
    public var messagesBeforeSignIn = 32
    /// Malformed messages of one connection. After one more, the session is closed with 4505.
    public var malformedMessages = 10

    // MARK: waiting

    /// Seconds for the PROXY protocol header, where it is required. Then the connection is closed.
    public var proxyHeaderSeconds = 3
    /// Seconds for the TLS handshake. Then the connection is closed.
    public var tlsHandshakeSeconds = 5
    /// Seconds for the head of a request: of the first one after the connection is established, and of a later one from
    /// its first byte. Then the connection is closed.
    public var requestHeadSeconds = 5
    /// Seconds from the end of a request's head to the end of its body, however often bytes arrive. Then the response
    /// is 408, and the connection is closed.
    public var requestBodySeconds = 30
    /// Seconds for signing in. Then the session is closed with 4008.
    public var signInSeconds = 5
    /// Seconds of silence before a ping, and seconds for the pong. Then the session is closed with 4001.
    public var pingSeconds = 25
    public var pongSeconds = 10
    /// Seconds in which a client with pending data reads nothing. Then the socket is closed without a close frame.
    public var writeStallSeconds = 10
    /// Minimum rate for reading a pending HTTP response, in bytes per second over `writeStallSeconds`. A slower
    /// connection is closed. 0: any byte is enough.
    public var minResponseBytesPerSecond = 1024
    /// Maximum age of a session in seconds. Each session gets a random value between half of it and all of it, then
    /// `goaway`. This distributes sessions over the gateways again after a restart. 0: no limit.
    public var sessionAgeSeconds = 0
    /// Seconds for the answer to a close frame (RFC 6455 section 7.1.1). Then the socket is closed.
    public var closeSeconds = 1

    // MARK: how much

    /// Jobs followed by one connection. More are answered with `limit_exceeded`.
    public var subscriptions = 10
    /// Jobs followed by one connection, for the roles `ops` and `service`.
    public var operationsSubscriptions = 200
    /// Zones watched by one connection. More are answered with `limit_exceeded`.
    public var watchedZones = 20
    /// Bytes queued for a connection that watches a pool. With more, the session is closed with 4002. A pool of 5,000
    /// riders has 250 KiB.
    public var poolQueueBytes = 8_388_608
    /// Bytes queued for a socket. With more, a session is closed with 4002; an HTTP response is paused until the client
    /// has read some of it.
    public var queueBytes = 65_536
    /// The kernel's send buffer, and the maximum length of one read, in bytes.
    public var socketSendBytes = 65_536
    public var receiveBytes = 2048
    /// Sessions of one person on a gateway. One more is closed with 4009. 0: no limit.
    public var sessionsPerPerson = 5
    /// Sessions of one address (IPv6: of one /64) on a gateway. One more is closed with 4009. 0: no limit.
    public var sessionsPerAddress = 50
    /// Sockets of one address on a gateway, including REST and pages. One more is closed without a response. 0: no
    /// limit.
    public var connectionsPerAddress = 200

    /// Kilometers from the pickup to the destination. More are answered with `unprocessable`, because lat and lon are
    /// usually swapped then. 0: no limit.
    public var pickupKilometers = 500
    /// Kilometers from the known places of a zone to a job's pickup or destination. More are answered with
    /// `unprocessable`. A zone that is larger accepts more. 0: no limit.
    public var zoneKilometers = 200

    // MARK: how fast

    /// Location reports published per second for a connection, each for all its jobs, and the burst. Further reports are
    /// conflated.
    public var positionsPerSecond = 2
    public var positionsBurst = 5
    /// How often per minute a rider may go online or offline on a gateway, over sessions and REST together.
    public var availabilityPerMinute = 6
    /// Messages per second of a connection. More are answered with `rate_limited`; if the rate is exceeded by twice the
    /// burst, the session is closed with 4006.
    public var messagesPerSecond = 20
    public var messagesBurst = 40
    /// Messages per second over all sessions of a person in one role, or of a link's viewers, on each event loop.
    public var messagesPerPersonPerSecond = 40
    public var messagesPerPersonBurst = 80
    /// Messages per second over all sessions of an address, on each event loop. A burst of 0: no limit.
    public var messagesPerAddressPerSecond = 400
    public var messagesPerAddressBurst = 800
    /// REST requests per second of a person, except for the role `service`. More are answered with 429.
    public var requestsPerPersonPerSecond = 10
    public var requestsPerPersonBurst = 40
    /// Rejected tokens per second of one address. More are answered with 429, and valid ones are accepted up to a fixed
    /// rate. A burst of 0: no limit.
    public var refusedTokensPerAddressPerSecond = 2
    public var refusedTokensPerAddressBurst = 20
    /// Anonymous requests per second of one address: redeemed sign-in codes, and the first state of a page by a link.
    /// More are answered with 429. A burst of 0: no limit.
    public var anonymousRequestsPerAddressPerSecond = 10
    public var anonymousRequestsPerAddressBurst = 60
    /// Map tiles per second for one address. More are answered with 429. A burst of 0: no limit.
    public var tilesPerAddressPerSecond = 50
    public var tilesPerAddressBurst = 500
    /// New connections per second of a gateway. More wait in the kernel. 0: no limit.
    public var newConnectionsPerSecond = 1000
    public var newConnectionsBurst = 1000

    public init() {}

    /// The valid battery levels. A message with another value is refused.
    public static let batteryLevels = 0.0...1.0

    /// Maximum length of a `ref` in Unicode scalars. A longer one is `bad_request`.
    public static let refCharacters = 64

    /// Maximum number of jobs in one `subscribe`. More are `bad_request`.
    public static let subscribeJobs = 100

    /// Bytes read from a client after a malformed frame or an exceeded rate, until it answers the close frame. With
    /// more the socket is closed.
    public static let closingBytes = 65_536

    /// The name of the WebSocket subprotocol.
    public static let subprotocol = "enroute.v1"
}
