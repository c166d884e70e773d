// The scripts of lua/, embedded in the binary. Each starts with its contract; lua/README.md is the overview.

internal import CScripts
package import Redis

/// One value for each file in lua/.
package enum Scripts {
    package static let assignJob = Self.script("assign_job")
    package static let correctJob = Self.script("correct_job")
    package static let createJob = Self.script("create_job")
    package static let describeJob = Self.script("describe_job")
    package static let noteJob = Self.script("note_job")
    package static let eraseJob = Self.script("erase_job")
    package static let dropListed = Self.script("drop_listed")
    package static let refreshJob = Self.script("refresh_job")
    package static let publishStatus = Self.script("publish_status")
    package static let recordLate = Self.script("record_late")
    package static let recoverJob = Self.script("recover_job")
    package static let startTravel = Self.script("start_travel")
    package static let stopTravel = Self.script("stop_travel")
    package static let openFeed = Self.script("open_feed")
    package static let closeFeed = Self.script("close_feed")
    package static let releaseFeed = Self.script("release_feed")
    package static let keepNote = Self.script("keep_note")
    package static let noteVerdicts = Self.script("note_verdicts")
    package static let revokeGrant = Self.script("revoke_grant")
    package static let claimRequest = Self.script("claim_request")
    package static let settleRequest = Self.script("settle_request")
    package static let listLink = Self.script("list_link")
    package static let dropLink = Self.script("drop_link")
    package static let issueLink = Self.script("issue_link")
    package static let joinLink = Self.script("join_link")
    package static let publishLocation = Self.script("publish_location")
    package static let publishETA = Self.script("publish_eta")
    package static let keepPush = Self.script("keep_push")
    package static let takePush = Self.script("take_push")

    // Events for other systems.
    package static let holdLease = Self.script("hold_lease")
    package static let parkEvent = Self.script("park_event")
    package static let settleEvent = Self.script("settle_event")
    package static let replayEvent = Self.script("replay_event")
    package static let forgetEvents = Self.script("forget_events")
    package static let forwardEvent = Self.script("forward_event")
    package static let dropWaiting = Self.script("drop_waiting")
    package static let noteWebhook = Self.script("note_webhook")
    package static let enlistWebhook = Self.script("enlist_webhook")
    package static let rotateWebhook = Self.script("rotate_webhook")
    package static let switchOnWebhook = Self.script("switch_on_webhook")

    // The riders of a zone.
    package static let setRiderOnline = Self.script("set_rider_online")
    package static let setRiderOffline = Self.script("set_rider_offline")
    package static let assignRider = Self.script("assign_rider")
    package static let releaseRider = Self.script("release_rider")
    package static let advanceTask = Self.script("advance_task")
    package static let riderHeartbeat = Self.script("rider_heartbeat")
    package static let expireRider = Self.script("expire_rider")
    package static let describeRider = Self.script("describe_rider")
    package static let finishJoining = Self.script("finish_joining")
    package static let removeRider = Self.script("remove_rider")
    package static let riderSnapshot = Self.script("rider_snapshot")
    package static let zoneSnapshot = Self.script("zone_snapshot")
    package static let placeRiders = Self.script("place_riders")

    /// Sources by name, without the file extension.
    static let sources: [String: [UInt8]] = {
        let table = enroute_scripts()
        return Dictionary(
            uniqueKeysWithValues: UnsafeBufferPointer(start: table.first, count: table.count).map { file in
                let name = String(cString: file.name).replacing(".lua", with: "")
                return (name, Array(UnsafeBufferPointer(start: file.bytes, count: file.count)))
            })
    }()

    private static func script(_ name: String) -> RedisScript {
        guard let source = Self.sources[name] else { preconditionFailure("CScripts does not embed \(name)") }
        return RedisScript(name: name, source: source)
    }
}
