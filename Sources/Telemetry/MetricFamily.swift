// The names of all counters, and the help texts that a scrape returns with them.

extension Metric {
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
            case .resyncMismatches: "Periodic checks that found followers or watchers behind Redis, outside of outages."
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
