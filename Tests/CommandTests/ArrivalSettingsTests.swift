import Foundation
import Testing

/// Settings of arrival times, of geocoding and of the validation of fixes. Mistakes are reported before anything is requested
/// from a provider, and no output contains a key.
@Suite struct ArrivalSettingsTests {
    private static let good = [
        "ENROUTE_REDIS_LIVE_URL": "unix:/nowhere.sock", "ENROUTE_TLS": "off", "ENROUTE_LISTEN_PORT": "0",
        "ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes", "ENROUTE_LOG_LEVEL": "trace",
    ]
    private static let secret = "pk.wJalrXUtnFEMI"

    /// Invalid settings, and what the error must contain.
    private static let bad: [([String: String], [String])] = [
        (["ENROUTE_ETA_INTERVAL_SECONDS": "61"], ["ENROUTE_ETA_INTERVAL_SECONDS is 61", "from 10 to 60"]),
        (["ENROUTE_ETA_INTERVAL_SECONDS": "9"], ["ENROUTE_ETA_INTERVAL_SECONDS is 9", "from 10 to 60"]),
        (["ENROUTE_ETA_INTERVAL_SECONDS": "1m"], ["ENROUTE_ETA_INTERVAL_SECONDS is 1m", "a whole number"]),
        (["ENROUTE_ETA_BEFORE_PICKUP": "maybe"], ["ENROUTE_ETA_BEFORE_PICKUP is maybe", "must be on or off"]),
        (["ENROUTE_ETA_PREPARATION_SECONDS": "-1"], ["ENROUTE_ETA_PREPARATION_SECONDS is -1", "from "]),
        (["ENROUTE_ETA_PICKUP_SECONDS": "soon"], ["ENROUTE_ETA_PICKUP_SECONDS is soon", "a whole number"]),
        (["ENROUTE_ETA_OSRM_URL": "http://a:\(secret)@osrm:5000"], ["ENROUTE_ETA_OSRM_URL", "without user or query"]),
        (
            ["ENROUTE_ETA_OSRM_URL": "http://osrm:5000", "ENROUTE_ETA_OSRM_DAILY_LIMIT": "-1"],
            ["ENROUTE_ETA_OSRM_DAILY_LIMIT is -1", "from 0 to"]
        ),
        (
            ["ENROUTE_ETA_AZURE_KEY": secret, "ENROUTE_ETA_AZURE_DAILY_LIMIT": "many"],
            ["ENROUTE_ETA_AZURE_DAILY_LIMIT is many", "a whole number"]
        ),
        (
            ["ENROUTE_ETA_MAPBOX_TOKEN": secret, "ENROUTE_ETA_MAPBOX_DAILY_LIMIT": "1e3"],
            ["ENROUTE_ETA_MAPBOX_DAILY_LIMIT is 1e3", "a whole number"]
        ),
        (
            ["ENROUTE_ETA_MAPBOX_TOKEN": secret, "ENROUTE_ETA_MAPBOX_URL": "http://api.example?t=\(secret)"],
            ["ENROUTE_ETA_MAPBOX_URL", "must begin with https://"]
        ), (["ENROUTE_ETA_AZURE_KEY": "\(secret) and more"], ["ENROUTE_ETA_AZURE_KEY", "printable ASCII"]),
        (["ENROUTE_ETA_AZURE_KEY_FILE": "/no.txt"], ["ENROUTE_ETA_AZURE_KEY_FILE names /no.txt", "cannot be read"]),
        (
            ["ENROUTE_ETA_OSRM_URL": "http://osrm:5000", "ENROUTE_ETA_PROVIDER_ORDER": "osrm,osrm"],
            ["ENROUTE_ETA_PROVIDER_ORDER is osrm,osrm", "each configured provider once: osrm"]
        ),
        (
            ["ENROUTE_ETA_PROVIDER_ORDER": "osrm"],
            ["ENROUTE_ETA_PROVIDER_ORDER is osrm", "no provider is configured"]
        ),
        (["ENROUTE_ETA_CA_FILE": "/etc/passwd"], ["ENROUTE_ETA_CA_FILE names /etc/passwd", "no PEM certificate"]),
        (["ENROUTE_GEOCODING_MAPBOX_TOKEN": "\(secret)\t"], ["ENROUTE_GEOCODING_MAPBOX_TOKEN", "printable ASCII"]),
        (
            ["ENROUTE_GEOCODING_MAPBOX_TOKEN_FILE": "/no.txt"],
            ["ENROUTE_GEOCODING_MAPBOX_TOKEN_FILE names /no.txt", "cannot be read"]
        ),
        (
            ["ENROUTE_GEOCODING_MAPBOX_TOKEN": secret, "ENROUTE_GEOCODING_DAILY_LIMIT": "-5"],
            ["ENROUTE_GEOCODING_DAILY_LIMIT is -5", "from 0 to"]
        ),
        (
            ["ENROUTE_GEOCODING_MAPBOX_TOKEN": secret, "ENROUTE_ETA_MAPBOX_URL": "http://api.example"],
            ["ENROUTE_ETA_MAPBOX_URL", "must begin with https://", "a key and addresses"]
        ),
        (
            ["ENROUTE_TRACKING_STOP_SHARING_ON_ARRIVAL": "yes"],
            ["ENROUTE_TRACKING_STOP_SHARING_ON_ARRIVAL is yes", "must be off or on"]
        ),
        (
            ["ENROUTE_TRACKING_STALE_AFTER_SECONDS": "0"],
            ["ENROUTE_TRACKING_STALE_AFTER_SECONDS is 0", "from 1 to 3600"]
        ),
        (
            ["ENROUTE_TRACKING_MAX_SHARING_SECONDS": "14401"],
            ["ENROUTE_TRACKING_MAX_SHARING_SECONDS is 14401", "from 1 to 14400"]
        ),
        (
            ["ENROUTE_JOB_RETENTION_SECONDS": "14399"],
            ["ENROUTE_JOB_RETENTION_SECONDS is 14399", "ENROUTE_TRACKING_MAX_SHARING_SECONDS (14400)"]
        ),
        (
            ["ENROUTE_TRACKING_MAX_PLAUSIBLE_SPEED_MPS": "0"],
            ["ENROUTE_TRACKING_MAX_PLAUSIBLE_SPEED_MPS is 0", "from 1 to 100000"]
        ),
    ]

    @Test(arguments: bad.indices)
    func `an invalid setting is reported by name, with the reason and what to do, and without keys`(index: Int)
        async throws
    {
        let (settings, reasons) = Self.bad[index]
        let outcome = try await CommandTests.run(["check"], environment: Self.good.merging(settings) { $1 })
        #expect(outcome.code == 78, "\(outcome)")
        for reason in reasons { #expect(outcome.all.contains(reason), "\(outcome)") }
        #expect(!(outcome.error + outcome.output).contains(Self.secret))
    }

    /// The settings are valid, so that only Redis is missing.
    @Test(arguments: [
        ["ENROUTE_ETA_INTERVAL_SECONDS": "10", "ENROUTE_TRACKING_STOP_SHARING_ON_ARRIVAL": "on"],
        ["ENROUTE_ETA_INTERVAL_SECONDS": "60", "ENROUTE_TRACKING_STOP_SHARING_ON_ARRIVAL": "off"],
        [
            "ENROUTE_ETA_AZURE_KEY": secret, "ENROUTE_ETA_AZURE_DAILY_LIMIT": "0", "ENROUTE_ETA_MAPBOX_TOKEN": secret,
            "ENROUTE_ETA_MAPBOX_DAILY_LIMIT": "1000000000", "ENROUTE_ETA_OSRM_URL": "http://127.0.0.1:1",
            "ENROUTE_ETA_OSRM_DAILY_LIMIT": "5", "ENROUTE_ETA_PROVIDER_ORDER": "osrm, mapbox, azure_maps",
        ],
        [
            "ENROUTE_GEOCODING_MAPBOX_TOKEN": secret, "ENROUTE_GEOCODING_DAILY_LIMIT": "0",
            "ENROUTE_ETA_MAPBOX_URL": "http://127.0.0.1:1",
        ],
        [
            "ENROUTE_TRACKING_STALE_AFTER_SECONDS": "3600", "ENROUTE_TRACKING_MAX_SHARING_SECONDS": "14400",
            "ENROUTE_TRACKING_MAX_PLAUSIBLE_SPEED_MPS": "100000", "ENROUTE_JOB_RETENTION_SECONDS": "14400",
        ],
        ["ENROUTE_TRACKING_MAX_SHARING_SECONDS": "60", "ENROUTE_JOB_RETENTION_SECONDS": "60"],
    ])
    func `valid settings are accepted, and a gateway that logs at trace level logs no key`(
        settings: [String: String]
    ) async throws {
        let output = try await CommandTests.serve(Self.good.merging(settings) { $1 }, until: ["waiting for Redis"])
        #expect(output.contains("waiting for Redis"), "\(output)")
        #expect(!output.contains(Self.secret))
    }

    @Test func `a key can come from a file, and is not printed either`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "enroute-key-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        let names = ["ENROUTE_ETA_AZURE_KEY", "ENROUTE_ETA_MAPBOX_TOKEN", "ENROUTE_GEOCODING_MAPBOX_TOKEN"]
        let environment = Self.good.merging(names.map { ($0 + "_FILE", file) }) { $1 }
        // A trailing newline is not part of the key; a space inside makes it invalid.
        for (content, code) in [(Self.secret + "\n", 69 as Int32), (Self.secret + " x\n", 78), ("\n", 78)] {
            try content.write(toFile: file, atomically: true, encoding: .utf8)
            // With valid settings `serve` would wait for Redis.
            for command in code == 69 ? ["check"] : ["serve", "check"] {
                let outcome = try await CommandTests.run([command], environment: environment)
                #expect(outcome.code == code, "\(outcome)")
                #expect(!(outcome.error + outcome.output).contains(Self.secret))
            }
        }
    }
}
