// Settings of services that a gateway calls: providers of arrival times and of geocoding, and queues of events.

import ETA
import Events
import Gateway
import Realtime
import Routing
import Tracking

extension SettingsTable {
    private static let dailyLimit = SettingType.integer(0...1_000_000_000, unit: "0 for no limit")
    private static let systemAuthorities = SettingDefault.described("the system's certificate authorities")
    private static let httpsURL = SettingType.text("`https://…`; `http://…` for this machine only")
    private static let perDay = "Counts the requests of all gateways; days are in UTC."

    static let arrivals = SettingGroup(
        "Arrival times",
        """
        Without a provider, and while no provider answers, a gateway uses the streets of a file, or else its built-in
        estimator. Azure Maps and Mapbox know the traffic; they receive the rider's location and the destination.
        """,
        [
            Setting(
                "ENROUTE_ETA_INTERVAL_SECONDS", .integer(10...60, unit: "seconds"),
                default: .seconds(libraryDefaults.arrivals.interval),
                "How often the arrival time of a followed job is updated.",
                details: "In that time, all gateways together send a provider at most one request for each job."),
            Setting(
                "ENROUTE_ETA_BEFORE_PICKUP", .onByDefault, default: .value("on"),
                "Whether a delivery has an arrival time before its rider is on the way.",
                details: """
                    It is calculated from the status, the two settings below and the route from the vendor to the
                    customer. Both places must be known, and a rider must be assigned. The rider's position is not used.
                    """, commands: ["serve", "explain"]),
            Setting(
                "ENROUTE_ETA_PREPARATION_SECONDS", .integer(0...86_400, unit: "seconds"),
                default: .seconds(.seconds(Int64(libraryDefaults.arrivals.early.preparationSeconds))),
                "How long an order usually takes from its acceptance until it is ready.",
                commands: ["serve", "explain"]),
            Setting(
                "ENROUTE_ETA_PICKUP_SECONDS", .integer(0...86_400, unit: "seconds"),
                default: .seconds(.seconds(Int64(libraryDefaults.arrivals.early.pickupSeconds))),
                "How long a ready order usually waits until the rider leaves with it.", commands: ["serve", "explain"]),
            Setting(
                "ENROUTE_ETA_PROVIDER_ORDER", .list("`azure_maps`, `mapbox` or `osrm`"),
                default: .value(ProcessConfiguration.providerOrder.joined(separator: ",")),
                "The order in which providers are tried.",
                details: "Must name each configured provider once."),
            Setting(
                "ENROUTE_ETA_CA_FILE", .text("path of a PEM file"), default: systemAuthorities,
                "Certificate authorities trusted for providers."),
            Setting(
                "ENROUTE_ETA_OSRM_URL", .text("a URL such as `http://osrm:5000`"), "Your own OSRM server.",
                secrecy: .url),
            Setting(
                "ENROUTE_ETA_OSRM_DAILY_LIMIT", dailyLimit, default: .number(0),
                "Maximum number of requests to OSRM per day.",
                details: perDay),
            Setting(
                "ENROUTE_ETA_AZURE_KEY", .text("printable ASCII without spaces"), "Key for Azure Maps.",
                secrecy: .secret),
            Setting(
                "ENROUTE_ETA_AZURE_URL", httpsURL, default: .value(AzureMaps.usualURL), "Base URL of Azure Maps.",
                secrecy: .url),
            Setting(
                "ENROUTE_ETA_AZURE_DAILY_LIMIT", dailyLimit, default: .number(ProcessConfiguration.defaultDailyLimit),
                "Maximum number of requests to Azure Maps per day.",
                details: perDay + " Above it, the next provider is used."),
            Setting(
                "ENROUTE_ETA_MAPBOX_TOKEN", .text("printable ASCII without spaces"), "Access token for Mapbox.",
                secrecy: .secret),
            Setting(
                "ENROUTE_ETA_MAPBOX_URL", httpsURL, default: .value(MapboxDirections.usualURL), "Base URL of Mapbox.",
                details: "Used for geocoding too.", secrecy: .url),
            Setting(
                "ENROUTE_ETA_MAPBOX_DAILY_LIMIT", dailyLimit, default: .number(ProcessConfiguration.defaultDailyLimit),
                "Maximum number of requests to Mapbox for arrival times per day.",
                details: perDay + " Above it, the next provider is used."),
            Setting(
                "ENROUTE_STREETS_FILE", .text("path of a file that `enroute streets build` wrote"),
                "The streets for arrival times when no provider answers.",
                details: """
                    `enroute streets build` compiles OpenStreetMap extracts and GeoJSON. The pages draw these streets too,
                    if there are no tiles and no `ENROUTE_PAGES_STREETS_FILE`. Followers see riders on these streets.

                    To replace the streets, build a new file under the same name and restart the gateway. When an upgrade
                    changes the format of the file, build it under another name, and change this setting when you upgrade
                    each gateway.
                    """),
        ])

    static let geocoding = SettingGroup(
        "Geocoding",
        """
        With a token, Mapbox finds the coordinates of addresses that jobs are created with. The results are stored, so
        requests are sent with `permanent=true`.
        """,
        [
            Setting(
                "ENROUTE_GEOCODING_MAPBOX_TOKEN", .text("printable ASCII without spaces"),
                "Access token for geocoding with Mapbox.", secrecy: .secret),
            Setting(
                "ENROUTE_GEOCODING_DAILY_LIMIT", dailyLimit, default: .number(ProcessConfiguration.defaultDailyLimit),
                "Maximum number of geocoding requests per day.", details: perDay),
        ])

    static let events = SettingGroup(
        "Events", "AWS SNS and AWS SQS as sources of events, in addition to `POST /api/v1/events`.",
        [
            Setting(
                "ENROUTE_SNS_TOPICS", .list("the ARN of a topic"), "AWS SNS topics whose events are accepted.",
                details: "For example `arn:aws:sns:eu-central-1:123456789012:orders`."),
            Setting(
                "ENROUTE_SNS_CERTIFICATE_HOSTS", .list("`host` or `host:port`"),
                default: .described("`sns.<region>.amazonaws.com`"),
                "Hosts that SNS signing certificates may come from.",
                details: "For another service that signs its messages as SNS does."),
            Setting(
                "ENROUTE_SNS_CA_FILE", .text("path of a PEM file"), default: systemAuthorities,
                "Certificate authorities trusted for SNS.",
                details: """
                    Used for the certificate hosts. The signing certificates must chain to one of them too. Include
                    intermediate certificates, because SNS publishes its certificate without them.
                    """),
            Setting(
                "ENROUTE_SNS_MAX_AGE_SECONDS", .integer(0...31_536_000, unit: "seconds; 0 for no limit"),
                default: .number(SNSVerifier.usualOldestSeconds), "Age above which an SNS message is refused.",
                details: "Older messages are answered with 403. SNS itself retries for an hour at most."),
            Setting(
                "ENROUTE_SQS_QUEUE_URL", .text("`https://sqs.<region>.amazonaws.com/<account>/<name>`"),
                "AWS SQS queue to receive events from.",
                details: "All gateways may poll the same queue. `http://…` is allowed for this machine only.",
                secrecy: .url),
            Setting(
                "AWS_REGION", .text("a region such as `eu-central-1`"),
                default: .described("the region in the queue's URL"), "Region of the SQS queue."),
            Setting("AWS_ACCESS_KEY_ID", .text("an access key id"), "Access key id for the SQS queue."),
            Setting(
                "AWS_SECRET_ACCESS_KEY", .text("a secret access key"), "Secret access key for the SQS queue.",
                secrecy: .secret),
            Setting(
                "AWS_SESSION_TOKEN", .text("a session token"), "Session token, for temporary credentials.",
                secrecy: .secret),
        ])
}
