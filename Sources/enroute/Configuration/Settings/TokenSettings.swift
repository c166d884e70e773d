// Settings of the tokens that people sign in with: the keys, and how the claims of an identity provider are read.

import Access

extension SettingsTable {
    private static let uses = ["serve", "token"]
    /// `replay` uses the secret of `enroute dev` only if no key is set.
    private static let usesOfKeys = ["serve", "token", "replay"]
    private static let claim =
        "path of a claim, such as `realm_access.roles`; see [Claims](identity-providers.md#claims)"

    static let tokens = SettingGroup(
        "Tokens",
        """
        A gateway needs at least one key to verify JSON Web Tokens with: public keys in files, an issuer that publishes its
        keys, or, for development, a shared secret. [identity-providers.md](identity-providers.md) has settings for Auth0,
        Cognito, Firebase, Keycloak and a backend of your own. `enroute token inspect` explains what a token permits.
        """,
        [
            Setting(
                "ENROUTE_TOKEN_PUBLIC_KEY_FILES", .list("path of a PEM file"), "Public keys that verify tokens.",
                details: "P-256 (ES256), RSA with 2048 bits or more (RS256) and Ed25519 (EdDSA).", commands: usesOfKeys),
            Setting(
                "ENROUTE_TOKEN_KEY_IDS", .list("a key id, the token's `kid`"),
                "Key ids of these public keys, in the same order.",
                details: """
                    Either one for each file or none at all. A token with a `kid` is verified with the key of that id only,
                    a token without one only with keys that have no id.
                    """, commands: uses),
            Setting(
                "ENROUTE_TOKEN_JWKS_URL", .text("`https://…`; `http://…` for this machine only"),
                "Where the issuer publishes its keys (JWKS, RFC 7517).",
                details: """
                    Fetched every 10 minutes, and at most every 30 s when a token names an unknown key. When a fetch fails,
                    the previous keys stay in use. May be combined with `ENROUTE_TOKEN_PUBLIC_KEY_FILES`.
                    """, secrecy: .url, commands: usesOfKeys),
            Setting(
                "ENROUTE_TOKEN_JWKS_CA_FILE", .text("path of a PEM file"),
                default: .described("the system's certificate authorities"),
                "Certificate authorities trusted for `ENROUTE_TOKEN_JWKS_URL`.", commands: uses),
            Setting(
                "ENROUTE_TOKEN_SECRET", .text("at least 32 bytes"), "Secret of HS256 tokens, for development.",
                secrecy: .secret, commands: usesOfKeys),
            Setting(
                "ENROUTE_TOKEN_ISSUER", .text("any text"), default: .value("enroute"),
                "Required value of the token's `iss` claim.", commands: usesOfKeys),
            Setting(
                "ENROUTE_TOKEN_AUDIENCE", .text("any text"), default: .value("enroute"),
                "Required value of the token's `aud` claim.",
                details: "The claim may be an array that contains it.", commands: usesOfKeys),
            Setting(
                "ENROUTE_TOKEN_AUDIENCE_CLAIM", .text(claim), default: .value("aud"),
                "The claim that contains the audience.",
                details: "Access tokens of Amazon Cognito have `client_id` instead of `aud`.", commands: uses),
            Setting(
                "ENROUTE_TOKEN_PERSON_CLAIM", .text(claim), default: .value("sub"),
                "The claim that identifies the person.", commands: uses),
            Setting(
                "ENROUTE_TOKEN_PERSON_FORM", .choice(IdentityProvider.PersonForm.allCases.map(\.rawValue)),
                default: .value("plain"), "What happens to a person's id that Enroute cannot use as it is.",
                details: """
                    Enroute's ids are 1 to 64 characters of `A-Z a-z 0-9 _ -`. With `plain`, a token with any other id is
                    refused. With `hashed`, the id becomes `s_` and the base64url of its SHA-256, which your backend can
                    [compute too](identity-providers.md#ids-of-people).
                    """, commands: uses),
            Setting(
                "ENROUTE_TOKEN_ROLE_CLAIM", .text(claim), default: .value("role"), "The claim that contains the role.",
                commands: uses),
            Setting(
                "ENROUTE_TOKEN_ROLES", .list("`value:role`, for example `courier:rider`"),
                default: .described("the claim must be one of Enroute's roles"),
                "Which value of the role claim becomes which role.",
                details: """
                    The claim may be a string or an array of strings. The first entry of this list whose value the claim
                    contains applies. The roles are `customer`, `rider`, `ops` and `service`. At most
                    \(IdentityProvider.mostRoles)
                    entries.
                    """, commands: uses),
            Setting(
                "ENROUTE_TOKEN_DEFAULT_ROLE", .choice(["none", "customer", "rider"]), default: .value("none"),
                "The role of tokens without one.",
                details: """
                    Applies if the role claim is missing, or if `ENROUTE_TOKEN_ROLES` maps none of its values. With `none`,
                    such a token is refused.
                    """, commands: uses),
            Setting(
                "ENROUTE_TOKEN_JOB_CLAIM", .text(claim), "A claim that limits the token to one job.",
                details: "A token without the claim is not limited. The claim `authorization` works in any case.",
                commands: uses),
            Setting(
                "ENROUTE_TOKEN_RIDER_CLAIM", .text(claim), "A claim that limits the token to one rider's jobs.",
                details: "A token without the claim is not limited. The claim `authorization` works in any case.",
                commands: uses),
            Setting(
                "ENROUTE_TOKEN_JTI", .choice(["required", "optional"]), default: .value("required"),
                "Whether tokens need the claim `jti`.",
                details: """
                    A token without `jti` has the id `<person>@<iat>`: revoking it revokes all tokens that this person got
                    in that second.
                    """, commands: uses),
            Setting(
                "ENROUTE_TOKEN_ALGORITHMS",
                .list("one of \(IdentityProvider.algorithms.sorted().joined(separator: ", "))"),
                default: .value("ES256,RS256,EdDSA,HS256"), "Algorithms that tokens may be signed with.",
                details: "The key determines the algorithm of a token. This list can exclude keys of some algorithms.",
                commands: uses),
            Setting(
                "ENROUTE_TOKEN_TYPE", .text("a media type without `application/`, such as `at+jwt`"),
                default: .described("`JWT`, `at+jwt` or no type"), "Required value of `typ` in the token's header.",
                commands: uses),
            Setting(
                "ENROUTE_TOKEN_PROVIDERS_FILE", .text("path of a file"), "Additional identity providers.",
                details: """
                    The file has a section for each provider: a line with its name in brackets, then the settings of this
                    group without `ENROUTE_TOKEN_`. `ISSUER` and `AUDIENCE` are required. At most
                    \(IdentityProvider.most) providers; [an example](identity-providers.md#several-providers).
                    """, commands: usesOfKeys),
        ])
}
