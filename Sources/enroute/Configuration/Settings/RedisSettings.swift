// Settings of both roles of Redis: addresses, prefix and replicas.

extension SettingsTable {
    private static let usersOfRedis = ["serve", "audit", "explain", "revoke", "webhooks"]
    private static let redisURL = "a [Redis URL](redis/README.md#redis-urls)"

    static let redis = SettingGroup(
        "Redis",
        """
        Enroute uses Redis in two roles. The *live* Redis holds positions, travel mode and other short-lived data, and
        must not persist anything. The *ledger* Redis holds jobs, statuses, riders and revocations, and should persist
        them. [redis](redis/README.md) has a configuration for each.
        """,
        [
            Setting(
                "ENROUTE_REDIS_LIVE_URL", .text(redisURL), default: .required,
                "Redis for positions, travel mode and other short-lived data; must not persist.",
                details: "In production the gateway does not start when this Redis persists anything.", secrecy: .url,
                commands: usersOfRedis),
            Setting(
                "ENROUTE_REDIS_LEDGER_URL", .text(redisURL),
                default: .described("the value of `ENROUTE_REDIS_LIVE_URL`, which only development allows"),
                "Redis for jobs, statuses, audit trail and revocations; should persist.", secrecy: .url,
                commands: usersOfRedis),
            Setting(
                "ENROUTE_REDIS_LIVE_ADMIN_URL", .text(redisURL),
                "URL with a Redis user that may read the configuration of the live Redis.",
                details: """
                    `enroute check`, and the check before the start, use it because the gateway's own user may not run
                    `CONFIG GET`. It must lead to the same Redis as `ENROUTE_REDIS_LIVE_URL`: another one is an error, and its
                    settings are ignored. In a cluster, the user must exist on every master.
                    """, secrecy: .url),
            Setting(
                "ENROUTE_REDIS_LEDGER_ADMIN_URL", .text(redisURL),
                "URL with a Redis user that may read the configuration of the ledger Redis.",
                details: "See `ENROUTE_REDIS_LIVE_ADMIN_URL`.", secrecy: .url),
            Setting(
                "ENROUTE_REDIS_PREFIX",
                .text("at most 64 ASCII characters without spaces and without `{ } * ? [ ] \\`"),
                "Prefix of every key and channel.",
                details: """
                    Lets several installations share a Redis instance, each with [users of its
                    own](redis/README.md#several-installations-on-one-redis). All gateways of an installation must use
                    the same prefix.
                    """,
                commands: usersOfRedis),
            Setting(
                "ENROUTE_REDIS_LEDGER_WAIT_REPLICAS",
                .text("`majority`, `all`, or a whole number from 0 to \(ProcessConfiguration.maxReplicas)"),
                default: .value("majority"), "Replicas that must have a change before it is acknowledged.",
                details: """
                    Applies to new jobs and statuses. `majority` and `all` refer to the replicas that the master had during
                    the last minute. When too few replicas answer within 200 ms, the request is answered with 202 and
                    `Enroute-Durability: unknown` instead of 200. See [what each costs](redis/README.md#replicas).
                    """),
        ])
}
