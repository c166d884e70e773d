// Settings of webhooks, which send events to other systems.

import Webhooks

extension SettingsTable {
    static let webhooks = SettingGroup(
        "Webhooks",
        """
        Events for other systems: [the guide](webhooks.md). Endpoints are added with `enroute webhooks add`, or over REST.
        """,
        [
            Setting(
                "ENROUTE_WEBHOOK_DELIVERY", .onByDefault, default: .value("on"),
                "Whether this gateway delivers events.",
                details: """
                    Such a gateway also moves events to the stream in the ledger, so at least one gateway must deliver.
                    """,
                commands: ["serve", "webhooks"]),
            Setting(
                "ENROUTE_WEBHOOK_CA_FILE", .text("path of a PEM file"),
                default: .described("the system's certificate authorities"),
                "Certificate authorities trusted for endpoints.", commands: ["serve", "webhooks"]),
            Setting(
                "ENROUTE_WEBHOOK_ALLOWED_NETWORKS", .list("an address, or a network such as `10.20.0.0/16`"),
                "Non-public networks in which endpoints are allowed.",
                details: """
                    Endpoints at private, link-local and other special addresses are refused, because a gateway may reach
                    services there that are not meant for the people who add endpoints.
                    """, commands: ["serve", "webhooks"]),
            Setting(
                "ENROUTE_WEBHOOK_RETRY_SECONDS", .list("a number of seconds from 1 to 604800"),
                default: .value(RetrySchedule.usual.delays.map { "\($0.components.seconds)" }.joined(separator: ",")),
                "The delays before an event is sent again.",
                details: "After the last one, the event is listed as undelivered. At most 20 delays.",
                commands: ["serve", "webhooks"]),
            Setting(
                "ENROUTE_WEBHOOK_OFF_AFTER_SECONDS", .integer(60...31_536_000, unit: "seconds"),
                default: .seconds(WebhookSettings.usual.offAfter),
                "How long an endpoint may fail before it is switched off.",
                details: "A successful test switches it on again.", commands: ["serve", "webhooks"]),
        ])
}
