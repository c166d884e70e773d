"""The panels of the dashboard, row by row. `$job` is one installation, `$instance` some of its gateways; generate adds the
rest. An expression that a healthy installation leaves without data has `is_empty_unless`."""

from dataclasses import dataclass

G = 'job="$job", instance=~"$instance"'     # gateways


@dataclass(frozen=True)
class Panel:
    title: str
    description: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    """Expressions and their legends."""
    kind: str = "timeseries"
    width: int = 8
    height: int = 7
    limits: tuple[float, ...] = ()
    """Where it becomes yellow and red, or only red."""
    is_low_bad: bool = False
    is_stacked: bool = False
    minimum: float | None = 0
    alerts: tuple[str, ...] = ()
    is_empty_unless: str = ""


def stat(title: str, description: str, unit: str, expression: str, **members) -> Panel:
    return Panel(title, description, unit, ((expression, ""),), **({"kind": "stat", "width": 4, "height": 4} | members))


def lines(title: str, description: str, unit: str, *queries: tuple[str, str], **members) -> Panel:
    return Panel(title, description, unit, queries, **members)


def rate(metric: str, labels: str = "", by: str = "") -> str:
    selected = f"{G}, {labels}" if labels else G
    return f"sum{f' by ({by})' if by else ''} (rate({metric}{{{selected}}}[$__rate_interval]))"


def quantile(share: float, metric: str, by: str = "") -> str:
    groups = f"{by}, le" if by else "le"
    return f"histogram_quantile({share}, sum by ({groups}) (rate({metric}_bucket{{{G}}}[$__rate_interval])))"


OVERVIEW = [
    stat("Delivered within 2 s", "Share of the deliveries of the last hour. The objective is 99.9 % in 30 days.",
         "percentunit", '1 - enroute:delivery_slow:ratio_rate1h{job="$job"}', limits=(0.99, 0.999), is_low_bad=True,
         minimum=None, alerts=("EnrouteDeliverySLOFastBurn", "EnrouteDeliverySLOSlowBurn")),
    stat("Delivery p99", "From receiving a location or status to writing it to the follower's socket.", "s",
         'enroute:delivery_seconds:p99_5m{job="$job"}', limits=(0.25, 2), alerts=("EnrouteDeliverySLOFastBurn",)),
    stat("Deliveries", "Messages written to followers each second.", "ops", 'enroute:deliveries:rate5m{job="$job"}'),
    stat("Gateways ready", "Gateways whose /readyz answers 200.", "none", f"sum(enroute_ready{{{G}}})", limits=(1, 2),
         is_low_bad=True, alerts=("EnrouteNoGatewayReady", "EnrouteGatewayNotReady", "EnrouteGatewayDown")),
    stat("Firing alerts", "Alerts of this installation that fire now.", "none",
         'count(ALERTS{job="$job", alertstate="firing"}) or vector(0)', limits=(1, 3)),
    stat("Versions", "Different versions that run now.", "none",
         f"count(count by (version, revision) (enroute_build_info{{{G}}}))", limits=(2,),
         alerts=("EnrouteVersionsDiffer", "EnrouteSettingsDiffer")),
    lines("Connections", "Open connections of each gateway.", "none",
          (f"enroute_connections_open{{{G}}}", "{{instance}}"), alerts=("EnrouteDescriptorsNearLimit",)),
    lines("Sessions by role", "Sessions that have signed in; link is a viewer with a tracking link.", "none",
          (f"sum by (role) (enroute_sessions_open{{{G}}})", "{{role}}"), is_stacked=True),
    lines("Followed jobs", "Jobs with a follower. A job that is followed on two gateways counts twice.", "none",
          (f"sum(enroute_jobs_followed{{{G}}})", "jobs")),
]

DELIVERY = [
    lines("Delivery time", "From receiving a location or status to writing it to the follower's socket.", "s",
          (quantile(0.5, "enroute_delivery_seconds"), "p50"), (quantile(0.9, "enroute_delivery_seconds"), "p90"),
          (quantile(0.99, "enroute_delivery_seconds"), "p99"), limits=(2,), alerts=("EnrouteDeliverySLOFastBurn",)),
    lines("Error budget burn rate",
          "1 uses up the budget in 30 days, 14.4 in two days. Alerts compare two windows each.", "none",
          ('enroute:delivery_slow:ratio_rate5m{job="$job"} / 0.001', "5 minutes"),
          ('enroute:delivery_slow:ratio_rate1h{job="$job"} / 0.001', "1 hour"),
          ('enroute:delivery_slow:ratio_rate6h{job="$job"} / 0.001', "6 hours"), limits=(6, 14.4),
          alerts=("EnrouteDeliverySLOFastBurn", "EnrouteDeliverySLOSlowBurn")),
    lines("Messages", "Received from clients, and offered to followers.", "ops",
          (rate("enroute_messages_received_total"), "received"), (rate("enroute_messages_relayed_total"), "relayed"),
          (rate("enroute_messages_queued_total"), "queued for slow clients")),
    lines("Queued bytes", "Bytes that wait for clients that read slowly.", "bytes",
          (f"enroute_outbox_queued_bytes{{{G}}}", "{{instance}}"), limits=(1_048_576,),
          alerts=("EnrouteFollowersSlow", "EnrouteOutboxOverflows")),
    lines("Conflated positions", "Positions that a newer one replaced: in, from a rider; out, for a slow follower.", "ops",
          (rate("enroute_positions_conflated_total", by="direction"), "{{direction}}"),
          (rate("enroute_outbox_overflows_total"), "disconnected")),
    lines("Resyncs", "Snapshots read again: repair after a lost message, check on a schedule. A mismatch is a surprise.",
          "ops", (rate("enroute_resyncs_total", by="kind, reason"), "{{kind}} {{reason}}"),
          (rate("enroute_resync_mismatches_total", by="kind"), "{{kind}} mismatch"), alerts=("EnrouteFollowersBehind",)),
    lines("Validated fixes", "Fixes from riders by verdict.", "ops",
          (rate("enroute_locations_validated_total", by="verdict"), "{{verdict}}"), is_stacked=True),
    lines("Riders that became unreachable", "Riders without a heartbeat.", "ops",
          (rate("enroute_rider_timeouts_total", by="outcome"), "{{outcome}}"),
          alerts=("EnrouteRiderUnreachableWithTask",)),
    lines("Sessions", "Sessions that signed in, and sessions that the gateway closed, by close code.", "ops",
          (rate("enroute_sessions_opened_total"), "opened"),
          (rate("enroute_sessions_closed_total", by="code"), "closed {{code}}")),
]

REDIS = [
    lines("Command time", "p99 from sending a command or script until its reply.", "s",
          (quantile(0.99, "enroute_redis_command_seconds", "role"), "{{role}}"), limits=(0.1,),
          alerts=("EnrouteRedisSlow",)),
    lines("Commands", "Commands and scripts each second.", "ops",
          (rate("enroute_redis_command_seconds_count", by="role"), "{{role}}")),
    lines("Replicas", "Replicas that receive the writes of the master; in a cluster, of the master with the fewest.", "none",
          (f"max by (role) (enroute_redis_replicas{{{G}}})", "{{role}}"), alerts=("EnrouteRedisReplicaLost",)),
    lines("Availability", "1 while all selected gateways can use it.", "none",
          (f"min by (dependency) (enroute_dependency_up{{{G}}})", "{{dependency}}"), limits=(1,), is_low_bad=True,
          alerts=("EnrouteRedisDown", "EnrouteKeysNotRefreshed", "EnrouteEventQueueDown", "EnrouteETAProviderDown")),
    lines("Errors", "Commands that failed, by kind.", "ops",
          (rate("enroute_redis_errors_total", by="role, kind") + " > 0", "{{role}} {{kind}}"),
          alerts=("EnrouteRedisRefusesCommands",), is_empty_unless="commands fail"),
    lines("During an outage", "Positions buffered until Redis is back, and positions not shown because revocations could "
          "not be read.", "ops", (rate("enroute_positions_buffered_total"), "buffered"),
          (rate("enroute_positions_suppressed_total"), "suppressed"), alerts=("EnroutePositionsSuppressed",)),
    lines("Malformed values, lost audit entries, unfinished changes", "All should be 0.", "ops",
          (rate("enroute_redis_invalid_values_total"), "malformed values"),
          (rate("enroute_audit_entries_lost_total"), "lost audit entries"),
          (rate("enroute_unfinished_changes_total", 'outcome="deferred"'), "changes deferred"),
          (rate("enroute_unfinished_changes_total", 'outcome="abandoned"'), "changes abandoned"),
          alerts=("EnrouteRedisInvalidValues", "EnrouteAuditEntriesLost")),
]

PROCESS = [
    lines("Event-loop lag", "Delay of the slowest loop. Add a gateway above 10 ms; above 50 ms it refuses connections.",
          "s", (f"enroute_event_loop_lag_seconds{{{G}}}", "{{instance}}"), limits=(0.01, 0.05),
          alerts=("EnrouteEventLoopLag",)),
    lines("CPU", "Cores in use.", "none", (f"rate(process_cpu_seconds_total{{{G}}}[$__rate_interval])", "{{instance}}")),
    lines("Memory", "Resident memory, and the limit above which sessions are closed.", "bytes",
          (f"process_resident_memory_bytes{{{G}}}", "{{instance}}"),
          (f"enroute_memory_limit_bytes{{{G}}} > 0", "limit of {{instance}}"),
          alerts=("EnrouteMemoryNearLimit", "EnrouteSessionsShed"),
          is_empty_unless="ENROUTE_OVERLOAD_MEMORY_MB is set, for the limit"),
    lines("File descriptors", "Share of the limit; at 90 % the gateway accepts no more connections.", "percentunit",
          (f"process_open_fds{{{G}}} / process_max_fds{{{G}}}", "{{instance}}"), limits=(0.8, 0.9),
          alerts=("EnrouteDescriptorsNearLimit",)),
    lines("Overload", "1 while a gateway accepts no connections, and sessions closed to free memory.", "none",
          (f"enroute_overloaded{{{G}}}", "overloaded {{instance}}"), (rate("enroute_sessions_shed_total"), "shed"),
          alerts=("EnrouteOverloaded", "EnrouteSessionsShed")),
    lines("Uptime", "Time since each gateway started.", "s",
          (f"time() - process_start_time_seconds{{{G}}}", "{{instance}}"),
          alerts=("EnrouteGatewayRestarts", "EnrouteVersionsDiffer")),
    lines("Clock difference", "By how much each gateway's clock is ahead of Redis's; negative if it is behind.",
          "s", (f"enroute_clock_offset_seconds{{{G}}}", "{{instance}} {{role}}"), minimum=None, limits=(1, 15),
          alerts=("EnrouteClockDrifts", "EnrouteClockWrong")),
]

REST = [
    lines("Requests by status", "REST requests answered.", "reqps",
          (rate("enroute_http_requests_total", by="status"), "{{status}}"), is_stacked=True),
    lines("Request time", "p99 by route.", "s",
          (quantile(0.99, "enroute_http_request_duration_seconds", "route"), "{{route}}")),
    lines("Failed requests", "Answered 5xx, by route: 503 while Redis is unavailable, 500 for internal errors.", "reqps",
          (rate("enroute_http_requests_total", 'status=~"5.."', "route, status"), "{{status}} {{route}}"),
          alerts=("EnrouteServerErrors", "EnrouteRESTUnavailable"), is_empty_unless="requests fail"),
]

SECURITY = [
    lines("Refused requests", "By reason; invalid_token for most requests means that a token key is missing.", "ops",
          (rate("enroute_requests_refused_total", by="reason"), "{{reason}}"), alerts=("EnrouteSignInFailures",)),
    lines("Refused connections and sessions", "By limit.", "ops",
          (rate("enroute_connections_refused_total", by="limit"), "{{limit}}"),
          (rate("enroute_sessions_refused_total", by="limit"), "{{limit}}"),
          (rate("enroute_proxy_headers_refused_total", by="reason"), "PROXY header {{reason}}"),
          alerts=("EnrouteConnectionsRefused", "EnrouteProxyHeadersRefused")),
    lines("Timeouts", "Connections closed because the peer missed a deadline.", "ops",
          (rate("enroute_timeouts_total", by="phase"), "{{phase}}"), alerts=("EnrouteHandshakesTimeOut",)),
    lines("Connection setup", "p99 of each stage: TLS, upgrade, sign-in.", "s",
          (quantile(0.99, "enroute_connection_setup_seconds", "stage"), "{{stage}}")),
    lines("Revocations", "Revocations applied, and sessions closed by them.", "ops",
          (rate("enroute_revocations_applied_total"), "applied"), (rate("enroute_sessions_revoked_total"), "sessions"),
          (rate("enroute_connections_reset_total"), "reset")),
    lines("Certificate", "Time until the certificate expires.", "s",
          (f"enroute_tls_certificate_expiry_timestamp_seconds{{{G}}} - time()", "{{instance}}"), minimum=None,
          limits=(172_800, 1_209_600), is_low_bad=True,
          alerts=("EnrouteCertificateExpiresSoon", "EnrouteCertificateExpires"),
          is_empty_unless="gateways terminate TLS (ENROUTE_TLS=on)"),
]

EVENTS = [
    lines("Requests for travel times", "By provider and outcome.", "ops",
          (rate("enroute_eta_requests_total", by="provider, outcome"), "{{provider}} {{outcome}}"),
          alerts=("EnrouteETAProviderDown", "EnrouteETAKeyRefused"), is_empty_unless="a provider is configured"),
    lines("Daily budget", "Requests left until midnight UTC.", "none",
          (f"min by (provider) (enroute_eta_budget_remaining{{{G}}})", "{{provider}}"),
          alerts=("EnrouteETABudgetUsedUp",), is_empty_unless="a provider with a daily limit is configured"),
    lines("Error of arrival times", "p90 of the difference to the true arrival, by minutes before it.", "s",
          (quantile(0.9, "enroute_eta_error_seconds", "provider, horizon_minutes"), "{{provider}} {{horizon_minutes}} min"),
          is_empty_unless="riders have arrived"),
    lines("Events", "Events from other systems.", "ops",
          (rate("enroute_events_processed_total", by="outcome"), "{{outcome}}"),
          (rate("enroute_events_refused_total", by="reason"), "refused {{reason}}"),
          alerts=("EnrouteEventsRefused", "EnrouteEventQueueDown")),
    lines("Webhooks", "Deliveries of events to other systems by outcome, and what was not delivered.", "ops",
          (rate("enroute_webhook_deliveries_total", by="outcome"), "{{outcome}}"),
          (rate("enroute_webhooks_switched_off_total"), "switched off"), (rate("enroute_webhooks_full_total"), "full"),
          (rate("enroute_webhook_gaps_total"), "trimmed before delivery"),
          alerts=("EnrouteWebhooksUndelivered",)),
    lines("Token keys", "Requests for the issuer's keys (JWKS).", "ops",
          (rate("enroute_jwks_fetches_total", by="outcome"), "{{outcome}}"), alerts=("EnrouteKeysNotRefreshed",)),
]

ROWS = [("Overview", OVERVIEW), ("Delivery", DELIVERY), ("Redis", REDIS), ("Event loops and process", PROCESS),
        ("REST", REST), ("Security and refusals", SECURITY), ("Arrival times and events", EVENTS)]
