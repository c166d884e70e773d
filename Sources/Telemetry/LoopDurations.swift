// The histograms of one event loop: how long deliveries, Redis commands and the stages of a connection take.

/// The histograms of one event loop. Confined to it.
package final class LoopDurations {
    package let delivery = DurationRecorder(.deliveries)
    package let liveCommand = DurationRecorder(.commands)
    package let ledgerCommand = DurationRecorder(.commands)
    /// The stages of a connection: TLS handshake, upgrade to a WebSocket, sign-in. Each one starts where the previous one ends.
    package let (tls, upgrade, signIn) = (
        DurationRecorder(.deliveries), DurationRecorder(.deliveries), DurationRecorder(.deliveries)
    )

    package init() {}

    /// The current values, for a scrape.
    package var values: Durations {
        Durations(
            delivery: self.delivery.histogram, liveCommand: self.liveCommand.histogram,
            ledgerCommand: self.ledgerCommand.histogram, tls: self.tls.histogram, upgrade: self.upgrade.histogram,
            signIn: self.signIn.histogram)
    }
}

/// The histograms of one event loop or of a whole gateway. A value.
package struct Durations: Sendable {
    package private(set) var delivery: DurationHistogram
    package private(set) var liveCommand: DurationHistogram
    package private(set) var ledgerCommand: DurationHistogram
    package private(set) var tls: DurationHistogram
    package private(set) var upgrade: DurationHistogram
    package private(set) var signIn: DurationHistogram

    package static let deliveryName = "enroute_delivery_seconds"
    package static let commandName = "enroute_redis_command_seconds"
    package static let setupName = "enroute_connection_setup_seconds"

    package mutating func add(_ other: Durations) {
        self.delivery.add(other.delivery)
        self.liveCommand.add(other.liveCommand)
        self.ledgerCommand.add(other.ledgerCommand)
        self.tls.add(other.tls)
        self.upgrade.add(other.upgrade)
        self.signIn.add(other.signIn)
    }

    /// The metrics in Prometheus text format 0.0.4.
    package var text: String {
        var lines = Self.head(
            Self.deliveryName,
            "Time from the receipt of a location or status by a gateway until it is written to a follower's socket.")
        lines += self.delivery.lines(Self.deliveryName)
        lines += Self.head(
            Self.commandName, "Time from sending a command or script to Redis until its reply, by Redis role.")
        lines += self.liveCommand.lines(Self.commandName, labels: "role=\"live\"")
        lines += self.ledgerCommand.lines(Self.commandName, labels: "role=\"ledger\"")
        lines += Self.head(
            Self.setupName,
            "Duration of each stage of a new WebSocket connection: tls (accepted to handshake), upgrade, sign_in (to welcome)."
        )
        lines += self.tls.lines(Self.setupName, labels: "stage=\"tls\"")
        lines += self.upgrade.lines(Self.setupName, labels: "stage=\"upgrade\"")
        lines += self.signIn.lines(Self.setupName, labels: "stage=\"sign_in\"")
        return lines.joined(separator: "\n") + "\n"
    }

    package init() {
        self.init(
            delivery: DurationHistogram(.deliveries), liveCommand: DurationHistogram(.commands),
            ledgerCommand: DurationHistogram(.commands), tls: DurationHistogram(.deliveries),
            upgrade: DurationHistogram(.deliveries), signIn: DurationHistogram(.deliveries))
    }

    fileprivate init(
        delivery: DurationHistogram, liveCommand: DurationHistogram, ledgerCommand: DurationHistogram,
        tls: DurationHistogram, upgrade: DurationHistogram, signIn: DurationHistogram
    ) {
        (self.delivery, self.liveCommand, self.ledgerCommand) = (delivery, liveCommand, ledgerCommand)
        (self.tls, self.upgrade, self.signIn) = (tls, upgrade, signIn)
    }

    private static func head(_ name: String, _ help: String) -> [String] {
        ["# HELP \(name) \(help)", "# TYPE \(name) histogram"]
    }
}
