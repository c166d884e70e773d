// Settings of push messages to browsers ("2 minutes away").

extension SettingsTable {
    static let push = SettingGroup(
        "Push messages",
        """
        "2 minutes away" on the customer's phone or computer, even when the page is closed (Web Push). The customer's page
        offers it once there is a key. The push service of the browser's vendor forwards the message, and cannot read it.
        """,
        [
            Setting(
                "ENROUTE_PUSH_KEY_FILE", .text("path of a PEM file with a P-256 private key"),
                "The key with which this site signs its push messages (VAPID).",
                details: """
                    Use the same key for all gateways. To create one: `openssl ecparam -genkey -name prime256v1 -noout -out
                    push.pem`. When the key changes, browsers have to subscribe again.
                    """, commands: ["serve"]),
            Setting(
                "ENROUTE_PUSH_CONTACT", .text("`mailto:` with an e-mail address, or an https URL"),
                "Whom a push service may contact about this site. Required with a key.", commands: ["serve"]),
            Setting(
                "ENROUTE_PUSH_CA_FILE", .text("path of a PEM file"),
                default: .described("the system's certificate authorities"),
                "Certificate authorities trusted for push services.", commands: ["serve"]),
            Setting(
                "ENROUTE_PUSH_ALLOWED_NETWORKS", .list("an address, or a network such as `10.20.0.0/16`"),
                "Non-public networks in which push services are allowed.",
                details: "A browser names its push service, so gateways connect to public addresses only.",
                commands: ["serve"]),
        ])
}
