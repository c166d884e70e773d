// Derives the settings of a gateway from those of the process.

import Access
import ETA
import EnrouteWire
import Foundation
import Gateway
import Journeys
import LiveState
import REST
import Realtime
import Redis
import SecureSocket
import Tracking
import TrafficControl

extension ProcessConfiguration {
    func loops() throws -> Int { try self.integer("ENROUTE_EVENT_LOOPS") }

    func liveState() throws -> LiveStateSettings {
        var state = LiveStateSettings()
        state.keyspace = try self.keyspace()
        state.maxSharingDuration = try self.seconds("ENROUTE_TRACKING_MAX_SHARING_SECONDS")
        state.positionLifetime = try self.seconds("ENROUTE_TRACKING_POSITION_LIFETIME_SECONDS")
        state.retention = try self.seconds("ENROUTE_JOB_RETENTION_SECONDS")
        state.heartbeatTimeout = try self.seconds("ENROUTE_RIDER_HEARTBEAT_TIMEOUT_SECONDS")
        state.autoOfflineDelay = try self.seconds("ENROUTE_RIDER_AUTO_OFFLINE_AFTER_SECONDS")
        state.accessEntries = try self.integer("ENROUTE_AUDIT_ACCESS_MAX_ENTRIES")
        return state
    }

    /// Like `liveState`, for a gateway: additionally checks that jobs are stored for longer than riders may share their
    /// location.
    func gatewayLiveState() throws -> LiveStateSettings {
        let state = try self.liveState()
        guard state.retention >= state.maxSharingDuration else {
            throw ConfigurationError(
                description:
                    "ENROUTE_JOB_RETENTION_SECONDS is \(state.retention.components.seconds), less than "
                    + "ENROUTE_TRACKING_MAX_SHARING_SECONDS (\(state.maxSharingDuration.components.seconds)): a job could "
                    + "disappear while its rider is on the way. Raise the first, or lower the second.")
        }
        return state
    }

    func gateway(host: String?, port: Int?, hasEchoEndpoint: Bool = false) async throws -> GatewaySettings {
        // Redis first, because nothing works without it. A person who has set nothing yet should read about it first.
        _ = try self.redis()
        let (verifier, issuerKeys) = try await self.tokens()
        var settings = try self.gateway(
            host: host, port: port, hasEchoEndpoint: hasEchoEndpoint, credentials: try self.credentials(),
            tokens: verifier)
        settings.issuerKeys = issuerKeys
        return settings
    }

    /// The settings of a gateway with the given certificate and token keys.
    func gateway(
        host: String?, port: Int?, hasEchoEndpoint: Bool = false, credentials: TLSCredentials?, tokens: TokenVerifier
    ) throws -> GatewaySettings {
        let (live, ledger) = try self.redis()
        var settings = GatewaySettings(
            host: Self.unbracketed(try host ?? self.required("ENROUTE_LISTEN_HOST", "the address to listen on.")),
            port: try port ?? self.integer("ENROUTE_LISTEN_PORT"),
            credentials: credentials, live: live, ledger: ledger, tokens: tokens)
        settings.redisTiming.quorum = try self.replicaQuorum()
        settings.topics = try self.topics()
        settings.queue = try self.queue()
        settings.webhooks = try self.webhooks()
        settings.push = try self.push()
        settings.arrivals = try self.arrivals()
        settings.liveState = try self.gatewayLiveState()
        settings.sharedSettings = try self.sharedSettings()
        settings.name = try self.gatewayName()
        settings.drainAccept = try self.seconds("ENROUTE_DRAIN_ACCEPT_SECONDS")
        settings.drain = try self.seconds("ENROUTE_DRAIN_SECONDS")
        settings.hasEchoEndpoint = hasEchoEndpoint
        settings.limits = try self.limits()
        settings.freshness = try self.seconds("ENROUTE_TRACKING_STALE_AFTER_SECONDS")
        settings.validation.fastestMetersPerSecond = Double(
            try self.integer("ENROUTE_TRACKING_MAX_PLAUSIBLE_SPEED_MPS"))
        settings.arrivalStopsTravel = try self.isOn("ENROUTE_TRACKING_STOP_SHARING_ON_ARRIVAL")
        settings.overload = try self.overload()
        settings.trustedProxies = try self.trustedProxies()
        settings.proxyProtocol = try self.proxyProtocol()
        settings.origins = try self.allowedOrigins()
        settings.management = try self.management()
        settings.leafletFolder = self.text("ENROUTE_PAGES_LEAFLET_DIR") ?? settings.leafletFolder
        settings.pagesFolder = try self.pagesFolder()
        settings.frameAncestors = try self.frameAncestors()
        settings.brand = try self.brand()
        settings.customerNotes = try self.customerAction("ENROUTE_PAGES_NOTES")
        settings.customerCancelling = try self.customerAction("ENROUTE_PAGES_CANCEL")
        settings.signInURL = try self.signInURL()
        settings.photoOrigins = try self.photoOrigins()
        settings.tiles = try self.tiles()
        settings.languageFiles = try self.languageFiles()
        settings.languages = try self.languages(and: settings.languageFiles)
        settings.streets = try self.streets(settings.arrivals.streets)
        settings.streetSource = settings.arrivals.streets.map { NetworkStreets($0) }
        return settings
    }

    /// An IPv6 address may be in brackets, as in a URL.
    static func unbracketed(_ host: String) -> String {
        host.hasPrefix("[") && host.hasSuffix("]") && host.contains(":") ? String(host.dropFirst().dropLast()) : host
    }

    func trustedProxies() throws -> TrustedProxies {
        try self.naming("ENROUTE_LISTEN_TRUSTED_PROXIES") {
            try TrustedProxies(self.list("ENROUTE_LISTEN_TRUSTED_PROXIES"))
        }
    }

    /// The balancers that send a PROXY protocol header; `nil` if no connection starts with one.
    func proxyProtocol() throws -> TrustedProxies? {
        guard try self.choice("ENROUTE_LISTEN_PROXY_PROTOCOL") == "required" else { return nil }
        let balancers = self.list("ENROUTE_LISTEN_PROXY_PROTOCOL_FROM")
        guard !balancers.isEmpty else {
            throw ConfigurationError(
                description: "ENROUTE_LISTEN_PROXY_PROTOCOL_FROM is not set; list the addresses of the load balancers, "
                    + "because ENROUTE_LISTEN_PROXY_PROTOCOL is required.")
        }
        return try self.naming("ENROUTE_LISTEN_PROXY_PROTOCOL_FROM") { try TrustedProxies(balancers) }
    }

    func allowedOrigins() throws -> AllowedOrigins {
        try self.naming("ENROUTE_LISTEN_ALLOWED_ORIGINS") {
            try AllowedOrigins(self.list("ENROUTE_LISTEN_ALLOWED_ORIGINS"))
        }
    }

    func frameAncestors() throws -> AllowedOrigins {
        try self.naming("ENROUTE_PAGES_FRAME_ANCESTORS") {
            try AllowedOrigins(self.list("ENROUTE_PAGES_FRAME_ANCESTORS"))
        }
    }

    func gatewayName() throws -> String {
        let name = try self.required("ENROUTE_GATEWAY_NAME", "a name for this gateway.")
        guard name.wholeMatch(of: /[A-Za-z0-9._-]{1,253}/) != nil || !self.isSet("ENROUTE_GATEWAY_NAME") else {
            throw ConfigurationError(
                description: "ENROUTE_GATEWAY_NAME is \(name); it must be 1 to 253 characters of A-Z a-z 0-9 . _ -.")
        }
        return name
    }

    func keyspace() throws -> Keyspace {
        let prefix = self.text("ENROUTE_REDIS_PREFIX") ?? ""
        guard prefix.utf8.count <= 64, !prefix.contains(where: { "{}*?[]\\ ".contains($0) || !$0.isASCII }) else {
            throw ConfigurationError(
                description:
                    "ENROUTE_REDIS_PREFIX is \(prefix); it must be at most 64 ASCII characters without spaces and without "
                    + "{ } * ? [ ] \\.")
        }
        return Keyspace(prefix: prefix)
    }

    /// - Returns: `nil` if TLS is off.
    func credentials() throws -> TLSCredentials? {
        guard try self.isOn("ENROUTE_TLS") else { return nil }
        let why = "the path of a PEM file. Behind a load balancer that terminates TLS, set ENROUTE_TLS=off."
        return try TLSCredentials(
            certificateChain: self.required("ENROUTE_TLS_CERTIFICATE_FILE", why),
            privateKey: self.required("ENROUTE_TLS_KEY_FILE", why),
            ticketKeys: self.list("ENROUTE_TLS_TICKET_KEY_FILES"),
            ocspResponse: self.text("ENROUTE_TLS_OCSP_RESPONSE_FILE"),
            makesRecords: try self.choice("ENROUTE_TLS_RECORD_LAYER") == "builtin",
            acceptsInvalidDates: try self.mode() == .development)
    }
}
