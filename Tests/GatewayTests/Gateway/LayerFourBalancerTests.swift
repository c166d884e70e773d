import TestSupport
import Testing
import TrafficControl

@testable import Gateway

/// Real balancers that pass connections through and send the client's address with the PROXY protocol.
@Suite(.needsMachine(for: .faults)) struct LayerFourBalancerTests {
    enum Balancer: String, CaseIterable {
        case haproxyVersion1, haproxyVersion2, nginx

        /// More than any test lasts: a busy machine responds late to some checks, and HAProxy would then refuse every
        /// client.
        private static let failedChecks = 10_000

        var proxy: RunningProxy { self == .nginx ? .nginx : .haproxy }

        func configuration(folder: String, port: Int, gateway: Int) -> String {
            switch self {
            case .haproxyVersion1, .haproxyVersion2:
                // The health check opens the same port: with version 2 it sends LOCAL, with version 1 UNKNOWN.
                """
                global
                    maxconn 256
                defaults
                    mode tcp
                    timeout connect 10s
                    timeout client 60s
                    timeout server 60s
                    timeout check 10s
                frontend clients
                    bind 127.0.0.1:\(port)
                    default_backend gateways
                backend gateways
                    option httpchk
                    http-check send meth GET uri /nothing ver HTTP/1.1 hdr Host localhost
                    http-check expect status 404
                    server gateway 127.0.0.1:\(gateway) check inter 200ms fall \(Self.failedChecks) \
                \(self == .haproxyVersion1 ? "send-proxy" : "send-proxy-v2 proxy-v2-options unique-id,crc32c")

                """
            case .nginx:
                """
                load_module /usr/lib/nginx/modules/ngx_stream_module.so;
                daemon off;
                master_process off;
                pid \(folder)/nginx.pid;
                error_log stderr crit;
                events { worker_connections 256; }
                stream {
                    server {
                        listen 127.0.0.1:\(port);
                        proxy_pass 127.0.0.1:\(gateway);
                        proxy_protocol on;
                    }
                }
                """
            }
        }
    }

    @Test(arguments: Balancer.allCases)
    func `limits per address count each client behind the balancer, and never the balancer`(balancer: Balancer)
        async throws
    {
        let loopback = try TrustedProxies(["127.0.0.1"])
        try await within {
            try await RunningGateway.run(isSecure: false) {
                $0.proxyProtocol = loopback
                $0.limits.connectionsPerAddress = 1
            } _: { gateway in
                try await balancer.proxy.run {
                    balancer.configuration(folder: $0, port: $1, gateway: gateway.port)
                } _: { port in
                    // One connection of each client is held open; a second one is closed without a response.
                    try await becomes("the balancer forwards") {
                        try await blocking { try Self.status(port, from: 2).hasPrefix("HTTP/1.1 404") }
                    }
                    // On a busy machine, an earlier attempt of that client may still have been open.
                    let before = try await Self.refusals(gateway)
                    try await blocking {
                        let first = try RawSocket(port: port, from: 3)
                        try first.send("GET /nothing HTTP/1.1\r\nHost: h\r\n\r\n")
                        _ = try first.readUntil(Array("\r\n\r\n".utf8))
                        #expect(try Self.status(port, from: 3) == "")
                        #expect(try Self.status(port, from: 4).hasPrefix("HTTP/1.1 404"))
                        _ = first
                    }
                    let after = try await Self.refusals(gateway)
                    #expect(after == before + 1)
                }
                let metrics = try await gateway.manage("/metrics").text
                for reason in ["missing", "malformed", "timeout", "untrusted"] {
                    #expect(metrics.contains("enroute_proxy_headers_refused_total{reason=\"\(reason)\"} 0\n"))
                }
            }
        }
    }

    /// How many connections the limit per address has refused.
    private static func refusals(_ gateway: RunningGateway) async throws -> Int {
        let metrics = try await gateway.manage("/metrics").text
        let value = metrics.firstMatch(
            of: /enroute_connections_refused_total\{limit="connections_per_address"\} (\d+)/)
        return try #require(value.flatMap { Int($0.1) })
    }

    /// The response to one request from 127.0.0.`host`; empty if the connection is closed without one.
    private static func status(_ port: Int, from host: UInt8) throws -> String {
        let socket = try RawSocket(port: port, from: host)
        try socket.send("GET /nothing HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        return String(decoding: try socket.readToEndOrReset(), as: UTF8.self)
    }
}
