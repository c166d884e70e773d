import Testing

/// Settings of external sources: topics and queues of events, and issuers of keys. `serve` and `check` report mistakes before
/// they connect to anything.
@Suite struct SourceSettingsTests {
    private static let good = [
        "ENROUTE_REDIS_LIVE_URL": "unix:/nowhere.sock", "ENROUTE_TLS": "off", "ENROUTE_LISTEN_PORT": "0",
        "ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes",
    ]
    private static let topic = "arn:aws:sns:eu-central-1:123456789012:orders"
    private static let queue = "https://sqs.eu-central-1.amazonaws.com/123456789012/orders"
    private static let secret = "wJalrXUtnFEMI"
    private static let credentials = ["AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": secret]

    /// Invalid settings, and what the error must contain: what is wrong, why, and what to do.
    private static let bad: [([String: String], [String])] = [
        (["ENROUTE_SNS_TOPICS": "orders"], ["ENROUTE_SNS_TOPICS contains orders", "such as arn:aws:sns:eu-central-1"]),
        (["ENROUTE_SNS_TOPICS": "\(topic), arn:aws:sqs:eu-central-1:123456789012:q"], ["contains arn:aws:sqs"]),
        (
            ["ENROUTE_SNS_TOPICS": topic, "ENROUTE_SNS_CA_FILE": "/no.pem"],
            ["ENROUTE_SNS_CA_FILE names /no.pem", "no PEM certificate"]
        ),
        (
            ["ENROUTE_SNS_TOPICS": topic, "ENROUTE_SNS_CERTIFICATE_HOSTS": "sns.example,https://sns.example"],
            ["ENROUTE_SNS_CERTIFICATE_HOSTS contains https://sns.example", "not a host name", "sns.example:8443"]
        ),
        (["ENROUTE_SNS_CA_FILE": "/no.pem"], ["ENROUTE_SNS_CA_FILE is set", "but ENROUTE_SNS_TOPICS is not"]),
        (
            ["ENROUTE_SNS_CERTIFICATE_HOSTS": "sns.example"],
            ["ENROUTE_SNS_CERTIFICATE_HOSTS is set", "or unset ENROUTE_SNS_CERTIFICATE_HOSTS"]
        ),
        (["ENROUTE_SQS_QUEUE_URL": "orders"], ["ENROUTE_SQS_QUEUE_URL must look like https://sqs."]),
        (["ENROUTE_SQS_QUEUE_URL": "http://sqs.example/1/orders"], ["http:// is accepted only for localhost"]),
        (["ENROUTE_SQS_QUEUE_URL": "https://a:b@sqs.example/1/orders"], ["ENROUTE_SQS_QUEUE_URL must look like"]),
        (["ENROUTE_SQS_QUEUE_URL": "https://sqs.example/orders"], ["ENROUTE_SQS_QUEUE_URL must look like"]),
        (["ENROUTE_SQS_QUEUE_URL": "https://sqs.example/1/orders"], ["AWS_REGION is required", "URL of the queue"]),
        (
            ["ENROUTE_SQS_QUEUE_URL": queue, "AWS_REGION": "Frankfurt am Main"],
            ["AWS_REGION is Frankfurt am Main", "not a region", "like eu-central-1"]
        ),
        (
            ["ENROUTE_SQS_QUEUE_URL": queue, "AWS_ACCESS_KEY_ID": ""],
            ["AWS_ACCESS_KEY_ID is not set", "to the queue of ENROUTE_SQS_QUEUE_URL"]
        ), (["ENROUTE_SQS_QUEUE_URL": queue, "AWS_SECRET_ACCESS_KEY": ""], ["AWS_SECRET_ACCESS_KEY is not set"]),
        (["ENROUTE_TOKEN_JWKS_URL": "keys"], ["ENROUTE_TOKEN_JWKS_URL must"]),
        // Found by Tests/Hostile: a port above 65535 crashed the process on the first request (related to B27).
        (["ENROUTE_TOKEN_JWKS_URL": "https://127.0.0.1:99999/keys"], ["ENROUTE_TOKEN_JWKS_URL must", "1 to 65535"]),
        (["ENROUTE_SQS_QUEUE_URL": "https://sqs.example:65536/1/orders"], ["ENROUTE_SQS_QUEUE_URL must look like"]),
        (["ENROUTE_ETA_OSRM_URL": "http://127.0.0.1:65536"], ["ENROUTE_ETA_OSRM_URL: Invalid OSRM URL"]),
        (
            ["ENROUTE_PAGES_SIGN_IN_URL": "https://a.example:65536/"],
            ["ENROUTE_PAGES_SIGN_IN_URL is https://a.example:65536/"]
        ),
        (
            ["ENROUTE_SNS_TOPICS": topic, "ENROUTE_SNS_CERTIFICATE_HOSTS": "sns.example:65536"],
            ["ENROUTE_SNS_CERTIFICATE_HOSTS contains sns.example:65536"]
        ),
        (
            ["ENROUTE_TOKEN_JWKS_URL": "https://a:b@issuer.example/"],
            ["must look like https://issuer.example/keys, without"]
        ),
        (
            ["ENROUTE_TOKEN_JWKS_URL": "http://issuer.example/keys"],
            ["must start with https://", "anyone who can alter the response can sign in as anybody"]
        ),
        (
            ["ENROUTE_TOKEN_JWKS_URL": "https://issuer.example/keys", "ENROUTE_TOKEN_JWKS_CA_FILE": "/no.pem"],
            ["ENROUTE_TOKEN_JWKS_CA_FILE names /no.pem"]
        ),
        (
            ["ENROUTE_TOKEN_JWKS_CA_FILE": "/no.pem"],
            ["ENROUTE_TOKEN_JWKS_CA_FILE is set", "but ENROUTE_TOKEN_JWKS_URL is not"]
        ),
        (["ENROUTE_ETA_OSRM_URL": "osrm:5000"], ["ENROUTE_ETA_OSRM_URL", "Use a URL like http://osrm:5000"]),
        (
            ["ENROUTE_ETA_AZURE_KEY": secret, "ENROUTE_ETA_AZURE_URL": "http://atlas.example"],
            ["ENROUTE_ETA_AZURE_URL", "must begin with https://", "a key and positions"]
        ),
        (["ENROUTE_ETA_MAPBOX_TOKEN": "\(secret) 2"], ["ENROUTE_ETA_MAPBOX_TOKEN", "printable ASCII"]),
        (["ENROUTE_ETA_MAPBOX_TOKEN_FILE": "/no.txt"], ["ENROUTE_ETA_MAPBOX_TOKEN_FILE names /no.txt"]),
        (["ENROUTE_ETA_CA_FILE": "/no.pem"], ["ENROUTE_ETA_CA_FILE names /no.pem", "cannot be read"]),
        (["ENROUTE_ETA_INTERVAL_SECONDS": "120"], ["ENROUTE_ETA_INTERVAL_SECONDS is 120", "10 to 60"]),
        (["ENROUTE_SNS_MAX_AGE_SECONDS": "-1"], ["ENROUTE_SNS_MAX_AGE_SECONDS is -1", "0 to 31536000"]),
        (
            ["ENROUTE_ETA_OSRM_URL": "http://osrm:5000", "ENROUTE_ETA_PROVIDER_ORDER": "osrm,mapbox"],
            ["ENROUTE_ETA_PROVIDER_ORDER is osrm,mapbox", "each configured provider once: osrm"]
        ),
    ]

    @Test(arguments: ["serve", "check"], bad.indices)
    func `an invalid setting is reported by name, with the reason and what to do, and without secrets`(
        command: String, index: Int
    )
        async throws
    {
        let (settings, reasons) = Self.bad[index]
        let environment = Self.good.merging(Self.credentials) { $1 }.merging(settings) { $1 }
        let outcome = try await CommandTests.run([command], environment: environment)
        #expect(outcome.code == 78, "\(outcome)")
        for reason in reasons { #expect(outcome.all.contains(reason), "\(outcome)") }
        #expect(!(outcome.error + outcome.output).contains(Self.secret))
    }

    @Test func `valid settings are accepted, so that only Redis is missing`() async throws {
        let settings = [
            "ENROUTE_SNS_TOPICS": "\(Self.topic),\(Self.topic).fifo", "ENROUTE_SNS_CERTIFICATE_HOSTS": "localhost:8443",
            "ENROUTE_SNS_MAX_AGE_SECONDS": "600",
            "ENROUTE_SQS_QUEUE_URL": Self.queue, "AWS_SESSION_TOKEN": Self.secret,
            "ENROUTE_TOKEN_JWKS_URL": "https://127.0.0.1:1/keys",
            "ENROUTE_ETA_OSRM_URL": "http://127.0.0.1:1", "ENROUTE_ETA_AZURE_KEY": Self.secret,
            "ENROUTE_ETA_PROVIDER_ORDER": "osrm,azure_maps", "ENROUTE_ETA_AZURE_DAILY_LIMIT": "0",
        ].merging(Self.credentials) { $1 }
        let environment = Self.good.merging(settings) { $1 }
        let outcome = try await CommandTests.run(["check"], environment: environment)
        #expect(outcome.code == 69, "\(outcome)")
        let output = try await CommandTests.serve(environment, until: ["waiting for Redis"])
        #expect(output.contains("waiting for Redis") && !output.contains(Self.secret), "\(output)")
    }
}
