// Settings of the process as a whole, of its listener and of TLS.

import Foundation
import LiveState
import Logging

extension SettingsTable {
    private static let maxEventLoops = 256

    static let general = SettingGroup(
        "General", "",
        [
            Setting(
                "ENROUTE_MODE", .choice(DeploymentMode.allCases.map(\.rawValue)), default: .value("production"),
                "Whether a failed check keeps the gateway from starting.",
                details: """
                    In `production` the gateway does not start when `enroute check` finds an error, or when its
                    certificate has expired. In `development` it logs a warning and starts.
                    """),
            Setting(
                "ENROUTE_LOG_LEVEL", .choice(Logger.Level.allCases.map(\.rawValue)), default: .value("info"),
                "The least severe level that is logged.",
                details: """
                    The log goes to standard error, one line for each event. Positions and tokens are never logged, at
                    any level.
                    """, commands: ["serve", "audit", "revoke", "webhooks", "token"]),
            Setting(
                "ENROUTE_LOG_FORMAT", .choice(LogFormat.allCases.map(\.rawValue)), default: .value("logfmt"),
                "The encoding of log lines.",
                details: """
                    `logfmt` is for people and for collectors that parse it. `json` writes one JSON object in each line,
                    with the same keys; all values are strings.
                    """, commands: ["serve", "audit", "revoke", "webhooks", "token"]),
            Setting(
                "ENROUTE_GATEWAY_NAME", .text("1 to 253 characters of `A-Z a-z 0-9 . _ -`"),
                default: .computed("the host's name") { ProcessInfo.processInfo.hostName },
                "Name of this gateway in the audit trail and on the operations page."),
            Setting(
                "ENROUTE_EVENT_LOOPS", .integer(1...Self.maxEventLoops, unit: ""),
                default: .computed("the number of processor cores that the process may use") {
                    "\(min(UsableCores.count, Self.maxEventLoops))"
                }, "Number of event loops, each on a thread of its own.",
                details: """
                    The default counts the cores of the process's CPU affinity, which `taskset`, cpusets and systemd's
                    `CPUAffinity=` restrict. If a container has a CPU quota of fewer cores, the quota counts, rounded
                    up. Set the number if systemd limits the unit with `CPUQuota=`.
                    """),
            Setting(
                "ENROUTE_REPLAY_TOKEN", .text("a JSON Web Token"),
                "The rider's token for `enroute replay`, unless --token-file names a file.", secrecy: .secret,
                commands: ["replay"]),
        ])

    static let listener = SettingGroup(
        "Listener", "Where clients connect: WebSocket, REST and pages share one port.",
        [
            Setting(
                "ENROUTE_LISTEN_HOST", .text("IP address or host name; an IPv6 address may be in brackets"),
                default: .value("0.0.0.0"), "Address to listen on.", details: "`--host` takes precedence."),
            Setting(
                "ENROUTE_LISTEN_PORT", .integer(0...65535, unit: ""), default: .number(8443),
                "TCP port to listen on; 0 selects a free one.",
                details: "`--port` takes precedence. The first line on standard output names the port in use."),
            Setting(
                "ENROUTE_LISTEN_ALLOWED_ORIGINS", .list("an origin such as `https://app.example:8443`"),
                default: .described("the gateway's own origin"),
                "Web pages that may open a WebSocket and use the REST interface.",
                details: """
                    Write origins as browsers send them: lower case and without a path. A default port, such as the 443
                    of https, is ignored. The origins of app shells are accepted too: `capacitor://localhost`,
                    `ionic://localhost`, `tauri://localhost`. Pages of these origins may open a WebSocket and, by CORS,
                    send REST requests and follow event streams. If you also use the gateway's own pages, list the
                    gateway's own origin too.

                    An upgrade or a preflight request from any other origin is refused with status 403; the log names
                    the origin. Apps and services that send no `Origin` header are not affected. Every page may read
                    the client modules and the interface documents.
                    """),
            Setting(
                "ENROUTE_LISTEN_TRUSTED_PROXIES", .list("an IP address, or a network such as `10.0.0.0/8`"),
                "Load balancers whose X-Forwarded-For header is trusted.",
                details: """
                    Without it, all clients behind a load balancer share the balancer's address, and so its limits per
                    address. Addresses in the header may have ports. If an entry of the header is not an address,
                    the connection counts as the balancer's.
                    """),
            Setting(
                "ENROUTE_LISTEN_PROXY_PROTOCOL", .choice(["off", "required"]), default: .value("off"),
                "Whether every connection starts with a PROXY protocol header.",
                details: """
                    For balancers that pass TLS through (HAProxy `send-proxy` or `send-proxy-v2`, nginx `proxy_protocol
                    on`): versions 1 and 2. Limits per address then apply to the client that the header names. A
                    connection without a valid header is closed and counted in `enroute_proxy_headers_refused_total`.
                    The management listener never expects a header.
                    """),
            Setting(
                "ENROUTE_LISTEN_PROXY_PROTOCOL_FROM", .list("an IP address, or a network such as `10.0.0.0/8`"),
                "Load balancers that may send a PROXY protocol header.",
                details: """
                    Required if `ENROUTE_LISTEN_PROXY_PROTOCOL` is `required`. A connection from any other address is
                    closed.
                    """),
        ])

    static let tls = SettingGroup(
        "TLS",
        """
        On SIGHUP the gateway reads the certificate, its key, the ticket keys and the OCSP response again, without
        closing a connection. Every other setting, the paths of these files included, needs a restart.
        """,
        [
            Setting(
                "ENROUTE_TLS", .onByDefault, default: .value("on"),
                "Whether the listener uses TLS; off behind a balancer that terminates it."),
            Setting(
                "ENROUTE_TLS_CERTIFICATE_FILE", .text("path of a PEM file"),
                "The gateway's certificate, followed by intermediate certificates.",
                details: "Required unless `ENROUTE_TLS` is `off`."),
            Setting(
                "ENROUTE_TLS_KEY_FILE", .text("path of a PEM file"), "The private key of the certificate.",
                details: "Required unless `ENROUTE_TLS` is `off`."),
            Setting(
                "ENROUTE_TLS_TICKET_KEY_FILES", .list("path of a file of 80 random bytes"),
                "Keys of TLS session tickets, the newest first.",
                details: """
                    Give every gateway the same files (`openssl rand 80`). A client that loses its gateway then resumes
                    its TLS session on another one. Without them each gateway has a key of its own.
                    """),
            Setting(
                "ENROUTE_TLS_OCSP_RESPONSE_FILE", .text("path of a file in DER"),
                "OCSP response to staple for clients that request it.",
                details: "An expired response is not sent. Replace the file in time and send SIGHUP."),
            Setting(
                "ENROUTE_TLS_RECORD_LAYER", .choice(["builtin", "openssl"]), default: .value("builtin"),
                "Who encrypts outgoing records: the gateway, or OpenSSL (slower).",
                details: """
                    OpenSSL does the handshake in both cases. `openssl` is a fallback in case the built-in record layer
                    causes problems.
                    """),
        ])
}
