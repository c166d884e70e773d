// Every limit a client can exceed, with its unit and the consequence. protocol/limits.md lists the same limits.

/// Bounds of a connection, of a person and of an address. Rates refill steadily up to their burst.
public struct Limits: Hashable, Sendable {
    // MARK: one message

    /// Bytes of one message from the client; more closes 1009, refused from the header.
    public var messageBytes = 4096
    /// Frames of one message; more closes 1009, refused from the header.
    public var messageFragments = 16
    /// Messages that wait, in order, while it is looked up who signs in; one more closes 4006.
    public var signInMessages = 32
    /// Messages that could not be understood, in one connection; more closes 4505.
    public var badMessages = 10

    // MARK: waiting

    /// Seconds a TLS handshake may take; then the connection is closed.
    public var handshakeSeconds = 5
    /// Seconds until a connection must have sent the head of its first request, once bytes can flow, and from the first byte
    /// of a later request to the end of its head; then it is closed.
    public var firstRequestSeconds = 5
    /// Seconds from the end of a request's head to the end of its body, however often a byte comes; then 408, and closed.
    public var bodySeconds = 30
    /// Seconds until a session must have signed in; then 4008.
    public var signInSeconds = 5
    /// Seconds of silence before a ping, and for the pong; then 4001.
    public var pingSeconds = 25
    public var pongSeconds = 10
    /// Seconds in which a socket that has to take something takes nothing; then it is closed without a word.
    public var stallSeconds = 10
    /// Bytes per second that a peer has to take of an HTTP answer that waits for it, over `stallSeconds`; with fewer the
    /// connection is closed. 0: any byte is enough.
    public var answerBytesPerSecond = 1024
    /// How old a session may get, seconds; each gets an age of its own between half of it and all of it, then `goaway`, so
    /// that sessions even out over gateways after a restart. 0: no bound.
    public var sessionAgeSeconds = 0
    /// Seconds a peer has to answer a close frame (RFC 6455 section 7.1.1); then the socket is closed.
    public var closeSeconds = 1

    // MARK: how much

    /// Jobs followed by one connection; more is answered `limit_exceeded`.
    public var subscriptions = 10
    /// The same for roles `ops` and `service`.
    public var operationsSubscriptions = 200
    /// Zones whose pools one connection watches; more is answered `limit_exceeded`.
    public var watchedZones = 20
    /// Bytes that wait for the socket of a connection that watches a pool; more closes 4002. A pool of 5,000 is 250 KiB.
    public var poolQueueBytes = 8_388_608
    /// Bytes that wait for a socket: of a session more closes 4002, and of an HTTP answer no more is written until the peer
    /// has taken some.
    public var queueBytes = 65_536
    /// Send buffer of the kernel and one read from a socket, bytes.
    public var socketSendBytes = 65_536
    public var receiveBytes = 2048
    /// Sessions of one person on a gateway; one more closes 4009. 0: no bound.
    public var sessionsPerPerson = 5
    /// Sessions of one address (IPv6: of one /64) on a gateway; one more closes 4009. 0: no bound.
    public var sessionsPerAddress = 50
    /// Sockets of one address on a gateway, REST and pages too; one more is closed without a word. 0: no bound.
    public var connectionsPerAddress = 200

    /// Kilometres from where an order is picked up to where it is brought; more is answered `unprocessable`, since most
    /// such places are lat and lon in each other's place. 0: no bound.
    public var pickupKilometers = 500

    // MARK: how fast

    /// Positions per second that are published for a connection, with a burst; of more only the newest waits.
    public var positionsPerSecond = 2
    public var positionsBurst = 5
    /// Times a minute that a rider may declare itself online or offline, by sessions and REST together, on a gateway.
    public var availabilityPerMinute = 6
    /// Messages per second of a connection; more is answered `rate_limited`, and twice the burst more closes 4006.
    public var messagesPerSecond = 20
    public var messagesBurst = 40
    /// The same over all sessions of a person, on each event loop.
    public var messagesPerPersonPerSecond = 40
    public var messagesPerPersonBurst = 80
    /// The same over all sessions of an address, on each event loop. A burst of 0: no bound.
    public var messagesPerAddressPerSecond = 400
    public var messagesPerAddressBurst = 800
    /// REST requests of a person per second, role `service` excepted; more is answered 429.
    public var requestsPerPersonPerSecond = 10
    public var requestsPerPersonBurst = 40
    /// Tokens that were refused, of one address, per second; more is answered 429 without a look at the token. A burst of 0:
    /// no bound.
    public var refusalsPerAddressPerSecond = 2
    public var refusalsPerAddressBurst = 20
    /// Requests of an address by who has not said who it is per second: sign-in codes shown, a page's first state by a link;
    /// more is answered 429. A burst of 0: no bound.
    public var visitsPerAddressPerSecond = 10
    public var visitsPerAddressBurst = 60
    /// Tiles of the map that an address may ask for per second; more is answered 429. A burst of 0: no bound.
    public var tilesPerAddressPerSecond = 50
    public var tilesPerAddressBurst = 500
    /// New connections of a gateway per second; more wait in the kernel until it is their turn. 0: no bound.
    public var handshakesPerSecond = 1000
    public var handshakesBurst = 1000

    public init() {}

    /// What is left in a phone's battery, of 1; a message that says something else is refused.
    public static let batteryLevels = 0.0...1.0

    /// Unicode scalars of a message's `ref`; a longer one is `bad_request`.
    public static let refCharacters = 64

    /// Jobs of one `subscribe`; more is `bad_request`.
    public static let subscribeJobs = 100

    /// Bytes that are read from a peer that broke the rules of frames or its rate, until it answers the close frame; with
    /// more the socket is closed.
    public static let closingBytes = 65_536

    /// Name of the WebSocket subprotocol.
    public static let subprotocol = "enroute.v1"
}
