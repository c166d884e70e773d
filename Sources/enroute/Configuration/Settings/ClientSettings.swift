// Settings of the commands that are clients of a gateway.

extension SettingsTable {
    private static let clients = ["job", "rider"]

    static let client = SettingGroup(
        "Commands that use a gateway",
        """
        `enroute job` and `enroute rider` are clients of a running gateway. In a folder in which `enroute dev` runs they need
        no setting.
        """,
        [
            Setting(
                "ENROUTE_CLIENT_URL", .text("`https://host[:port][/prefix]`; `http://` only for this machine"),
                default: .described("the gateway that `enroute dev` started"), "The gateway's URL.",
                details: "`--url` takes precedence.", commands: clients),
            Setting(
                "ENROUTE_CLIENT_TOKEN", .text("a JSON Web Token"),
                default: .described("a token of `enroute dev`"), "The token of the user for whom the command acts.",
                details: "`--token-file` takes precedence. No option accepts a token, because `ps` shows options.",
                secrecy: .secret, commands: clients),
            Setting(
                "ENROUTE_CLIENT_CA_FILE", .text("path of a PEM file"),
                default: .described("the certificate authorities of the system"),
                "Certificate authorities that may sign the gateway's certificate.", details: "`--ca` takes precedence.",
                commands: clients),
            Setting(
                "ENROUTE_CLIENT_FOLDER", .text("path of a folder"), default: .value(DevFolder.name),
                "Folder in which `enroute dev` stores its URL and tokens.",
                details: """
                    The tokens in it are used only with the URL in it: a URL that you set needs a token that you set.
                    `enroute token` and `enroute replay` use the secret in it unless a key is set.
                    """, commands: clients + ["token", "replay"]),
        ])
}
