// The register of all counters. It is a closed list: label values are enumerated here, so no label can hold an
// ID and the number of time series is bounded.

/// A counter. Each case is one time series: a metric name with one set of label values.
package enum Metric: Int, CaseIterable, Sendable {
    case connectionsAccepted
    case connectionsRefusedByAddress
    case proxyHeadersMissing, proxyHeadersMalformed, proxyHeadersTimedOut, proxyHeadersUntrusted
    case sessionsOpened
    case sessionsRefusedByPerson, sessionsRefusedByAddress, sessionsRefusedByLink
    case handshakesTimedOut, requestsTimedOut, bodiesTimedOut, signInsTimedOut, pongsTimedOut, writesStalled,
        closesTimedOut
    case messagesReceived, messagesRefusedByRate, messagesNotUnderstood, messagesFailed
    case positionsConflatedIn, positionsConflatedOut
    case messagesRelayed, messagesQueued
    case outboxOverflows
    case requestsRefusedByRate, tokensRefused
    case requestsLockedOut, anonymousRequestsRefused, tilesRefused, requestsMalformed, originsRefused
    case acceptPauses, sessionsShed, sessionsExpired
    case jobRepairResyncs, jobCheckResyncs, jobMismatches, redisOutages, positionsBuffered
    case fixesAccepted, fixesHeld, fixesOutOfRange, fixesZeroZero, fixesFuture, fixesStale, fixesOutOfOrder
    case fixesDuplicate, fixesInaccurate, fixesImplausible, fixesWithoutTravel, fixesWrongClock,
        fixesOfOtherDevice, fixesMocked
    case revocationsApplied, sessionsRevoked, connectionsReset, positionsSuppressed
    case auditEntriesLost
    case changesDeferred, changesFinished, changesAbandoned
    case zoneRepairResyncs, zoneCheckResyncs, zoneMismatches, zoneJobsResets
    case ridersUnreachable, ridersUnreachableWithTask, ridersExpired, offlineRefused, tasksReleased
    case jwksFetched, jwksFetchFailed
    case eventsApplied, eventsRepeated, eventsSuperseded
    case eventsNotYet, eventsUnprocessable, eventsMalformed, eventsForged, eventsFailed
    case webhooksDelivered, webhooksFailed, webhooksGivenUp, webhooksSwitchedOff, webhookGaps, webhooksFull
    case pushesSent, pushesGone, pushesFailed, pushesRefused
    case closedGoingAway, closedOverloaded, closedRateLimited, closedBadMessages, closedTooBig, closedProtocolError

    /// The metric name and help text, which the series of one family share.
    package var family: Family {
        switch self {
        case .connectionsAccepted: .connectionsAccepted
        case .connectionsRefusedByAddress: .connectionsRefused
        case .proxyHeadersMissing, .proxyHeadersMalformed, .proxyHeadersTimedOut, .proxyHeadersUntrusted:
            .proxyHeadersRefused
        case .sessionsOpened: .sessionsOpened
        case .sessionsRefusedByPerson, .sessionsRefusedByAddress, .sessionsRefusedByLink: .sessionsRefused
        case .handshakesTimedOut, .requestsTimedOut, .bodiesTimedOut, .signInsTimedOut, .pongsTimedOut, .writesStalled,
            .closesTimedOut:
            .timeouts
        case .messagesReceived: .messagesReceived
        case .messagesRefusedByRate, .messagesNotUnderstood: .messagesRefused
        case .positionsConflatedIn, .positionsConflatedOut: .positionsConflated
        case .messagesFailed: .messagesFailed
        case .messagesRelayed: .messagesRelayed
        case .messagesQueued: .messagesQueued
        case .outboxOverflows: .outboxOverflows
        case .requestsRefusedByRate, .tokensRefused, .requestsLockedOut, .anonymousRequestsRefused, .tilesRefused,
            .requestsMalformed, .originsRefused:
            .requestsRefused
        case .acceptPauses: .acceptPauses
        case .sessionsShed: .sessionsShed
        case .sessionsExpired: .sessionsExpired
        case .jobRepairResyncs, .jobCheckResyncs, .zoneRepairResyncs, .zoneCheckResyncs: .resyncs
        case .jobMismatches, .zoneMismatches: .resyncMismatches
        case .zoneJobsResets: .zoneJobsResets
        case .redisOutages: .redisOutages
        case .positionsBuffered: .positionsBuffered
        case .fixesAccepted, .fixesHeld, .fixesOutOfRange, .fixesZeroZero, .fixesFuture, .fixesStale, .fixesOutOfOrder,
            .fixesDuplicate, .fixesInaccurate, .fixesImplausible, .fixesWithoutTravel, .fixesWrongClock,
            .fixesOfOtherDevice, .fixesMocked:
            .locationsValidated
        case .revocationsApplied: .revocationsApplied
        case .sessionsRevoked: .sessionsRevoked
        case .connectionsReset: .connectionsReset
        case .positionsSuppressed: .positionsSuppressed
        case .auditEntriesLost: .auditEntriesLost
        case .changesDeferred, .changesFinished, .changesAbandoned: .unfinishedChanges
        case .ridersUnreachable, .ridersUnreachableWithTask, .ridersExpired: .riderTimeouts
        case .offlineRefused: .offlineRefused
        case .tasksReleased: .tasksReleased
        case .jwksFetched, .jwksFetchFailed: .jwksFetches
        case .eventsApplied, .eventsRepeated, .eventsSuperseded: .eventsProcessed
        case .eventsNotYet, .eventsUnprocessable, .eventsMalformed, .eventsForged, .eventsFailed: .eventsRefused
        case .webhooksDelivered, .webhooksFailed, .webhooksGivenUp: .webhookDeliveries
        case .pushesSent, .pushesGone, .pushesFailed, .pushesRefused: .pushMessages
        case .webhooksSwitchedOff: .webhooksSwitchedOff
        case .webhookGaps: .webhookGaps
        case .webhooksFull: .webhooksFull
        case .closedGoingAway, .closedOverloaded, .closedRateLimited, .closedBadMessages, .closedTooBig,
            .closedProtocolError:
            .sessionsClosed
        }
    }

    /// The labels of this series; empty if its family has only one series.
    package var labels: [(name: String, value: String)] {
        switch self {
        case .connectionsRefusedByAddress: [("limit", "connections_per_address")]
        case .proxyHeadersMissing: [("reason", "missing")]
        case .proxyHeadersMalformed: [("reason", "malformed")]
        case .proxyHeadersTimedOut: [("reason", "timeout")]
        case .proxyHeadersUntrusted: [("reason", "untrusted")]
        case .sessionsRefusedByPerson: [("limit", "sessions_per_person")]
        case .sessionsRefusedByAddress: [("limit", "sessions_per_address")]
        case .sessionsRefusedByLink: [("limit", "viewers_per_link")]
        case .handshakesTimedOut: [("phase", "handshake")]
        case .requestsTimedOut: [("phase", "first_request")]
        case .bodiesTimedOut: [("phase", "body")]
        case .signInsTimedOut: [("phase", "sign_in")]
        case .pongsTimedOut: [("phase", "pong")]
        case .writesStalled: [("phase", "write")]
        case .closesTimedOut: [("phase", "close")]
        case .messagesRefusedByRate: [("reason", "rate")]
        case .messagesNotUnderstood: [("reason", "malformed")]
        case .positionsConflatedIn: [("direction", "in")]
        case .positionsConflatedOut: [("direction", "out")]
        case .requestsRefusedByRate: [("reason", "rate")]
        case .tokensRefused: [("reason", "invalid_token")]
        case .requestsLockedOut: [("reason", "invalid_tokens_per_address")]
        case .anonymousRequestsRefused: [("reason", "anonymous_requests_per_address")]
        case .tilesRefused: [("reason", "tiles_per_address")]
        case .requestsMalformed: [("reason", "malformed")]
        case .originsRefused: [("reason", "origin")]
        case .fixesAccepted: [("verdict", "accepted")]
        case .fixesHeld: [("verdict", "held")]
        case .fixesOutOfRange: [("verdict", "out_of_range")]
        case .fixesZeroZero: [("verdict", "zero_zero")]
        case .fixesFuture: [("verdict", "future")]
        case .fixesStale: [("verdict", "stale")]
        case .fixesOutOfOrder: [("verdict", "out_of_order")]
        case .fixesDuplicate: [("verdict", "duplicate")]
        case .fixesInaccurate: [("verdict", "inaccurate")]
        case .fixesImplausible: [("verdict", "implausible_speed")]
        case .fixesWithoutTravel: [("verdict", "travel_mode_off")]
        case .fixesWrongClock: [("verdict", "clock")]
        case .fixesOfOtherDevice: [("verdict", "other_device")]
        case .fixesMocked: [("verdict", "mocked")]
        case .jobRepairResyncs: [("kind", "job"), ("reason", "repair")]
        case .jobCheckResyncs: [("kind", "job"), ("reason", "check")]
        case .zoneRepairResyncs: [("kind", "zone"), ("reason", "repair")]
        case .zoneCheckResyncs: [("kind", "zone"), ("reason", "check")]
        case .jobMismatches: [("kind", "job")]
        case .zoneMismatches: [("kind", "zone")]
        case .changesDeferred: [("outcome", "deferred")]
        case .changesFinished: [("outcome", "finished")]
        case .changesAbandoned: [("outcome", "abandoned")]
        case .ridersUnreachable: [("outcome", "unreachable")]
        case .ridersUnreachableWithTask: [("outcome", "unreachable_with_task")]
        case .ridersExpired: [("outcome", "expired")]
        case .jwksFetched: [("outcome", "succeeded")]
        case .jwksFetchFailed: [("outcome", "failed")]
        case .eventsApplied: [("outcome", "applied")]
        case .eventsRepeated: [("outcome", "repeated")]
        case .eventsSuperseded: [("outcome", "superseded")]
        case .eventsNotYet: [("reason", "not_yet")]
        case .eventsUnprocessable: [("reason", "unprocessable")]
        case .eventsMalformed: [("reason", "malformed")]
        case .eventsForged: [("reason", "forged")]
        case .eventsFailed: [("reason", "failed")]
        case .pushesSent: [("outcome", "sent")]
        case .pushesGone: [("outcome", "gone")]
        case .pushesFailed: [("outcome", "failed")]
        case .pushesRefused: [("outcome", "refused")]
        case .webhooksDelivered: [("outcome", "delivered")]
        case .webhooksFailed: [("outcome", "failed")]
        case .webhooksGivenUp: [("outcome", "given_up")]
        case .closedGoingAway: [("code", "4000")]
        case .closedOverloaded: [("code", "4004")]
        case .closedRateLimited: [("code", "4006")]
        case .closedBadMessages: [("code", "4505")]
        case .closedTooBig: [("code", "1009")]
        case .closedProtocolError: [("code", "1002")]
        default: []
        }
    }

    /// A metric name that follows the Prometheus conventions (prometheus.io/docs/practices/naming), and its help text.
    package enum Family: String, CaseIterable, Sendable {
        case connectionsAccepted = "enroute_connections_accepted_total"
        case connectionsRefused = "enroute_connections_refused_total"
        case proxyHeadersRefused = "enroute_proxy_headers_refused_total"
        case sessionsOpened = "enroute_sessions_opened_total"
        case sessionsRefused = "enroute_sessions_refused_total"
        case sessionsClosed = "enroute_sessions_closed_total"
        case sessionsShed = "enroute_sessions_shed_total"
        case sessionsExpired = "enroute_sessions_expired_total"
        case timeouts = "enroute_timeouts_total"
        case messagesReceived = "enroute_messages_received_total"
        case messagesRefused = "enroute_messages_refused_total"
        case messagesFailed = "enroute_messages_failed_total"
        case messagesRelayed = "enroute_messages_relayed_total"
        case messagesQueued = "enroute_messages_queued_total"
        case positionsConflated = "enroute_positions_conflated_total"
        case outboxOverflows = "enroute_outbox_overflows_total"
        case requestsRefused = "enroute_requests_refused_total"
        case acceptPauses = "enroute_accept_pauses_total"
        case resyncs = "enroute_resyncs_total"
        case resyncMismatches = "enroute_resync_mismatches_total"
        case zoneJobsResets = "enroute_zone_jobs_resets_total"
        case redisOutages = "enroute_loop_redis_outages_total"
        case positionsBuffered = "enroute_positions_buffered_total"
        case locationsValidated = "enroute_locations_validated_total"
        case revocationsApplied = "enroute_revocations_applied_total"
        case sessionsRevoked = "enroute_sessions_revoked_total"
        case connectionsReset = "enroute_connections_reset_total"
        case positionsSuppressed = "enroute_positions_suppressed_total"
        case auditEntriesLost = "enroute_audit_entries_lost_total"
        case unfinishedChanges = "enroute_unfinished_changes_total"
        case riderTimeouts = "enroute_rider_timeouts_total"
        case offlineRefused = "enroute_offline_refused_total"
        case tasksReleased = "enroute_tasks_released_total"
        case jwksFetches = "enroute_jwks_fetches_total"
        case eventsProcessed = "enroute_events_processed_total"
        case eventsRefused = "enroute_events_refused_total"
        case webhookDeliveries = "enroute_webhook_deliveries_total"
        case pushMessages = "enroute_push_messages_total"
        case webhooksSwitchedOff = "enroute_webhooks_switched_off_total"
        case webhookGaps = "enroute_webhook_gaps_total"
        case webhooksFull = "enroute_webhooks_full_total"

        package var help: String {
            switch self {
            case .connectionsAccepted: "Sockets accepted."
            case .connectionsRefused: "Connections closed immediately because a limit was reached."
            case .proxyHeadersRefused:
                "Connections closed because they did not start with a valid PROXY protocol header."
            case .sessionsOpened: "WebSocket sessions that signed in."
            case .sessionsRefused: "Sessions closed with code 4009 because a limit was reached."
            case .sessionsClosed: "Sessions that the gateway closed, by close code."
            case .sessionsShed: "Idle sessions closed because the gateway used too much memory."
            case .sessionsExpired: "Sessions asked to reconnect because they reached the maximum session age."
            case .timeouts: "Connections closed because the peer missed a deadline, by phase of the connection."
            case .messagesReceived: "Messages received from clients."
            case .messagesRefused: "Messages from clients that were refused."
            case .messagesFailed: "Messages from clients that failed with an internal error."
            case .messagesRelayed: "Messages from Redis offered to a follower."
            case .messagesQueued: "Messages queued because the socket of their receiver was slow."
            case .positionsConflated: "Positions dropped because a newer one of the same job replaced them."
            case .outboxOverflows: "Sessions closed with code 4002 because their outbox was full."
            case .requestsRefused: "HTTP requests refused before they were processed."
            case .acceptPauses: "Times the gateway stopped accepting connections because it was overloaded."
            case .resyncs: "Snapshots of followed jobs and watched zones read again from Redis, by reason."
            case .resyncMismatches: "Periodic checks that found followers or watchers behind the state in Redis."
            case .zoneJobsResets:
                "Times the list of a zone's jobs was sent again because its watcher was too slow for the changes."
            case .redisOutages: "Redis outages reported to clients; every event loop counts each outage."
            case .positionsBuffered:
                "Positions buffered because Redis was unavailable; only the newest of each job is sent later."
            case .locationsValidated: "Fixes from riders by validation verdict; updated every few seconds."
            case .revocationsApplied: "Users, tokens, jobs and links revoked."
            case .sessionsRevoked: "Sessions closed with code 4502 because their access was revoked."
            case .connectionsReset:
                "Connections reset because the peer still had unread data after its access was revoked."
            case .positionsSuppressed: "Positions not shown immediately because the revocation state was stale."
            case .auditEntriesLost: "Audit entries dropped because the audit buffer was full."
            case .unfinishedChanges:
                "Changes of a job or task that failed halfway: deferred, then finished by a retry or abandoned."
            case .riderTimeouts: "Riders that this gateway found unreachable; expired riders were set offline."
            case .offlineRefused: "Requests to go offline refused with 409 because the rider had an active task."
            case .tasksReleased:
                "Tasks released because their job had ended or been reassigned, usually after a gateway stopped unexpectedly."
            case .eventsProcessed: "Events from other systems that were processed."
            case .eventsRefused:
                "Events from other systems that were refused; those with reason not_yet or failed are sent again."
            case .webhookDeliveries: "Attempts to deliver an event to a webhook, and events that were given up."
            case .pushMessages: "Push messages that a rider is near, by outcome."
            case .webhooksSwitchedOff:
                "Webhooks that were switched off because their endpoint did not work for too long."
            case .webhookGaps: "Times that events were trimmed from the stream before delivery to a webhook."
            case .webhooksFull: "Times that a webhook's waiting list was full, so that events stayed in the stream."
            case .jwksFetches:
                "Requests for the token issuer's keys (JWKS); after a failure the previous keys stay in use."
            }
        }
    }
}

/// The counters of one event loop. Each loop increments its own without synchronization; a scrape adds them up.
package struct Counts: Sendable {
    private var values = [Int](repeating: 0, count: Metric.allCases.count)

    package init() {}

    package subscript(metric: Metric) -> Int { self.values[metric.rawValue] }

    package mutating func add(_ metric: Metric, _ amount: Int = 1) { self.values[metric.rawValue] += amount }

    package mutating func add(_ other: Counts) {
        for index in self.values.indices { self.values[index] += other.values[index] }
    }
}

/// Prometheus text format 0.0.4.
package enum Exposition {
    package static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

    package static func text(_ counts: Counts, _ gauges: [GaugeSamples]) -> String {
        var lines: [String] = []
        for family in Metric.Family.allCases {
            lines.append("# HELP \(family.rawValue) \(family.help)")
            lines.append("# TYPE \(family.rawValue) counter")
            for metric in Metric.allCases where metric.family == family {
                let labels = metric.labels.map { "\($0.name)=\"\($0.value)\"" }.joined(separator: ",")
                lines.append("\(family.rawValue)\(labels.isEmpty ? "" : "{\(labels)}") \(counts[metric])")
            }
        }
        for gauge in gauges { lines += gauge.lines }
        return lines.joined(separator: "\n") + "\n"
    }
}
