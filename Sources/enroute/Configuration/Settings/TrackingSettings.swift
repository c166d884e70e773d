// Settings of tracking, riders and jobs. Their defaults are those of the libraries that implement them.

import Gateway
import LiveState
import Realtime
import Tracking

extension SettingsTable {
    private static let state = libraryDefaults.liveState

    static let tracking = SettingGroup(
        "Tracking", "How long riders share their location, and which fixes are accepted.",
        [
            Setting(
                "ENROUTE_TRACKING_MAX_SHARING_SECONDS", .integer(1...14_400, unit: "seconds"),
                default: .seconds(state.maxSharingDuration), "How long a rider may share their location for one job.",
                details: """
                    Counted from the first start of travel mode for the job, whether travel mode is on or off in between.
                    Four hours is the maximum.
                    """, commands: ["serve", "explain"]),
            Setting(
                "ENROUTE_TRACKING_STALE_AFTER_SECONDS", .integer(1...3_600, unit: "seconds"),
                default: .seconds(libraryDefaults.freshness), "Age at which a location counts as stale.",
                details: """
                    Followers are then notified that the location is stale and that the arrival time is being recalculated,
                    and why the rider sends nothing, as far as that is known.
                    """, commands: ["serve", "explain"]),
            Setting(
                "ENROUTE_TRACKING_MAX_PLAUSIBLE_SPEED_MPS", .integer(1...100_000, unit: "meters per second"),
                default: .number(Int(libraryDefaults.validation.fastestMetersPerSecond)),
                "Speed above which a fix is held back until later fixes confirm it.",
                details: "Raise it to replay recordings faster than they were made."),
            Setting(
                "ENROUTE_TRACKING_STOP_SHARING_ON_ARRIVAL", .offByDefault, default: .value("off"),
                "Whether travel mode ends when the rider has reached the destination.",
                details: """
                    `on` ends it when the rider has been at the destination for 20 s. With `off` the gateway only reports
                    the arrival.
                    """),
            Setting(
                "ENROUTE_TRACKING_POSITION_LIFETIME_SECONDS", .integer(1...3_600, unit: "seconds"),
                default: .seconds(state.positionLifetime), "How long Redis stores a rider's last position.",
                commands: ["serve", "explain"]),
        ])

    static let riders = SettingGroup(
        "Riders", "When a silent rider stops counting as reachable, and as online.",
        [
            Setting(
                "ENROUTE_RIDER_HEARTBEAT_TIMEOUT_SECONDS", .integer(1...86_400, unit: "seconds"),
                default: .seconds(state.heartbeatTimeout), "How long a rider counts as reachable after a heartbeat.",
                details: "The rider's last known position is used for the same time.", commands: ["serve", "explain"]),
            Setting(
                "ENROUTE_RIDER_AUTO_OFFLINE_AFTER_SECONDS", .integer(1...604_800, unit: "seconds"),
                default: .seconds(state.autoOfflineDelay),
                "Time without a heartbeat after which an idle rider is set offline.",
                details: """
                    A rider with an active task stays online. No rider is set offline before
                    `ENROUTE_RIDER_HEARTBEAT_TIMEOUT_SECONDS` have passed.
                    """, commands: ["serve", "explain"]),
        ])

    static let jobs = SettingGroup(
        "Jobs and audit trail", "",
        [
            Setting(
                "ENROUTE_JOB_RETENTION_SECONDS", .integer(60...31_536_000, unit: "seconds"),
                default: .seconds(state.retention), "How long a job is stored after its last change.",
                details: """
                    Open jobs count too: one that nobody changes for that long, for example a pre-order, is deleted without
                    an event. The value must be at least `ENROUTE_TRACKING_MAX_SHARING_SECONDS`. Revocations and browsers to
                    notify are stored for the same time, but for at least 48 hours.
                    """,
                commands: ["serve", "revoke"]),
            Setting(
                "ENROUTE_AUDIT_ACCESS_MAX_ENTRIES", .integer(1_000...100_000_000, unit: ""),
                default: .number(state.accessEntries),
                "Approximate length of the audit stream of who followed or read which job.",
                details: """
                    When the stream is full, the oldest entries are removed. The other audit stream, of erasures and
                    automatic changes, has \(state.auditEntries) entries.
                    """, commands: ["serve", "explain"]),
        ])
}
