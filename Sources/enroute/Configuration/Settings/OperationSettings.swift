// Settings of the management listener, of stopping, and of overload.

import EnrouteWire
import Gateway
import Realtime
import TrafficControl

extension SettingsTable {
    private static let overloadBounds = libraryDefaults.overload

    static let management = SettingGroup(
        "Management", "Probes and metrics, over plain HTTP on a port of their own. Do not expose it to the public.",
        [
            Setting(
                "ENROUTE_MANAGEMENT", .onByDefault, default: .value("on"), "Whether there is a management listener.",
                commands: ["serve", "probe"]),
            Setting(
                "ENROUTE_MANAGEMENT_HOST", .text("IP address or host name; an IPv6 address may be in brackets"),
                default: .value("127.0.0.1"), "Address of the management listener.",
                commands: ["serve", "probe"]),
            Setting(
                "ENROUTE_MANAGEMENT_PORT", .integer(0...65535, unit: ""), default: .number(9464),
                "TCP port of the management listener; 0 selects a free one.", commands: ["serve", "probe"]),
        ])

    static let draining = SettingGroup(
        "Stopping",
        """
        Give the process at least the sum of both settings, plus 5 s, to stop (`terminationGracePeriodSeconds` in
        Kubernetes, `TimeoutStopSec` in systemd).
        """,
        [
            Setting(
                "ENROUTE_DRAIN_ACCEPT_SECONDS", .integer(0...600, unit: "seconds"),
                default: .seconds(libraryDefaults.drainAccept),
                "How long a stopping gateway accepts connections while /readyz fails.",
                details: """
                    Set it longer than your load balancer needs to notice: the interval of its checks times the number of
                    failures it waits for.
                    """),
            Setting(
                "ENROUTE_DRAIN_SECONDS", .integer(0...600, unit: "seconds"), default: .seconds(libraryDefaults.drain),
                "How long a stopping gateway then waits for its connections to close.",
                details: "Clients are asked to reconnect elsewhere, spread over this time."),
        ])

    static let overload = SettingGroup(
        "Overload", "While a gateway is overloaded it accepts no new connections, and `/readyz` fails.",
        [
            Setting(
                "ENROUTE_OVERLOAD_LOOP_LAG_MS", .integer(1...60_000, unit: "milliseconds"),
                default: .number(overloadBounds.loopLagMilliseconds), "Event-loop lag that counts as overload.",
                details: """
                    A gateway is overloaded when an event loop lags by this much in half of the measurements of the last
                    second.
                    """),
            Setting(
                "ENROUTE_OVERLOAD_DESCRIPTOR_PERCENT", .integer(1...100, unit: "percent"),
                default: .number(overloadBounds.descriptorPercent),
                "File descriptor usage that counts as overload.",
                details: "\(overloadBounds.reservedDescriptors) descriptors are always reserved."),
            Setting(
                "ENROUTE_OVERLOAD_MEMORY_MB", .integer(0...1_048_576, unit: "MiB; 0 for no limit"),
                default: .number(overloadBounds.memoryBytes / 1_048_576),
                "Resident memory above which idle sessions are closed.",
                details: """
                    The newest are closed first, with close code 4004. No new connections are accepted until memory use is
                    below this.
                    """
            ),
        ])
}
