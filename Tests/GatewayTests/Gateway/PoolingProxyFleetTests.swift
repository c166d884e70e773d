import EnrouteWire
import Foundation
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Gateways behind proxies that reuse connections for requests of several clients.
@Suite(.needsMachine(for: .faults)) struct PoolingProxyFleetTests {
    private static func configuration(_ proxy: RunningProxy, folder: String, port: Int, gateway: Int) -> String {
        switch proxy {
        case .nginx:
            """
            daemon off;
            master_process off;
            pid \(folder)/nginx.pid;
            error_log stderr crit;
            events { worker_connections 256; }
            http {
                access_log off;
                client_body_temp_path \(folder)/body;
                proxy_temp_path \(folder)/proxy;
                fastcgi_temp_path \(folder)/fastcgi;
                scgi_temp_path \(folder)/scgi;
                uwsgi_temp_path \(folder)/uwsgi;
                map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
                upstream gateway { server 127.0.0.1:\(gateway); keepalive 8; }
                server {
                    listen 127.0.0.1:\(port);
                    location / {
                        proxy_pass http://gateway;
                        proxy_http_version 1.1;
                        proxy_set_header Host $host;
                        proxy_set_header Upgrade $http_upgrade;
                        proxy_set_header Connection $connection_upgrade;
                    }
                }
            }
            """
        case .haproxy:
            """
            global
                maxconn 256
            defaults
                mode http
                http-reuse aggressive
                timeout connect 10s
                timeout client 60s
                timeout server 60s
                timeout tunnel 60s
            frontend clients
                bind 127.0.0.1:\(port)
                default_backend gateways
            backend gateways
                server gateway 127.0.0.1:\(gateway)

            """
        }
    }

    @Test(arguments: RunningProxy.allCases)
    func `B32: upgrades on reused proxy connections all succeed`(proxy: RunningProxy) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let token = try await gateway.token("anna", .service)
                try await proxy.run {
                    Self.configuration(proxy, folder: $0, port: $1, gateway: gateway.port)
                } _: { port in
                    try await blocking { try Self.alternate(port, token) }
                }
                let accepted = try await gateway.manage("/metrics").text
                    .firstMatch(of: /enroute_connections_accepted_total ([0-9]+)/).flatMap { Int($0.1) }
                // 40 requests, most of them on reused connections.
                #expect(try #require(accepted) < 35)
            }
        }
    }

    private static func alternate(_ port: Int, _ token: String) throws {
        for round in 0..<20 {
            // Two at a time, so that some connections are certainly reused.
            let client = try RawSocket(port: port)
            for _ in 0..<2 {
                try client.send("GET /nothing HTTP/1.1\r\nHost: h\r\n\r\n")
                let head = String(decoding: try client.readUntil(Array("\r\n\r\n".utf8)), as: UTF8.self)
                #expect(head.hasPrefix("HTTP/1.1 404 "), "\(round): \(head)")
                let length = head.lowercased().firstMatch(of: /content-length: ([0-9]+)/).flatMap { Int($0.1) } ?? 0
                var left = length
                while left > 0 { left -= try client.read(atMost: left).count }
            }
            let session = try RawSocket.upgraded(port: port, token: token)
            let head = String(decoding: try session.readUntil(Array("\r\n\r\n".utf8)), as: UTF8.self)
            #expect(head.hasPrefix("HTTP/1.1 101 "), "\(round): \(head)")
            _ = try session.readUntil(Array(#""type":"welcome""#.utf8))
            try session.sayGoodbye()
        }
    }
}
