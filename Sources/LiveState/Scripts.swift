// The scripts of lua/, embedded in the binary. Their contracts stand at the top of each; lua/README.md is the overview.

package import Redis

/// One value for each file of lua/.
package enum Scripts {
    package static let assignJob = RedisScript(name: "assign_job", source: PackageResources.assign_job_lua)
    package static let createJob = RedisScript(name: "create_job", source: PackageResources.create_job_lua)
    package static let describeJob = RedisScript(name: "describe_job", source: PackageResources.describe_job_lua)
    package static let publishStatus = RedisScript(name: "publish_status", source: PackageResources.publish_status_lua)
    package static let recoverJob = RedisScript(name: "recover_job", source: PackageResources.recover_job_lua)
    package static let startTravel = RedisScript(name: "start_travel", source: PackageResources.start_travel_lua)
    package static let stopTravel = RedisScript(name: "stop_travel", source: PackageResources.stop_travel_lua)
    package static let openFeed = RedisScript(name: "open_feed", source: PackageResources.open_feed_lua)
    package static let closeFeed = RedisScript(name: "close_feed", source: PackageResources.close_feed_lua)
    package static let noteVerdicts = RedisScript(name: "note_verdicts", source: PackageResources.note_verdicts_lua)
    package static let revokeGrant = RedisScript(name: "revoke_grant", source: PackageResources.revoke_grant_lua)
    package static let claimRequest = RedisScript(name: "claim_request", source: PackageResources.claim_request_lua)
    package static let settleRequest = RedisScript(
        name: "settle_request", source: PackageResources.settle_request_lua)
    package static let issueLink = RedisScript(name: "issue_link", source: PackageResources.issue_link_lua)
    package static let joinLink = RedisScript(name: "join_link", source: PackageResources.join_link_lua)
    package static let publishLocation = RedisScript(
        name: "publish_location", source: PackageResources.publish_location_lua)
    package static let publishETA = RedisScript(name: "publish_eta", source: PackageResources.publish_eta_lua)

    // The riders of a zone.
    package static let setRiderOnline = RedisScript(
        name: "set_rider_online", source: PackageResources.set_rider_online_lua)
    package static let setRiderOffline = RedisScript(
        name: "set_rider_offline", source: PackageResources.set_rider_offline_lua)
    package static let assignRider = RedisScript(name: "assign_rider", source: PackageResources.assign_rider_lua)
    package static let releaseRider = RedisScript(name: "release_rider", source: PackageResources.release_rider_lua)
    package static let advanceTask = RedisScript(name: "advance_task", source: PackageResources.advance_task_lua)
    package static let riderHeartbeat = RedisScript(
        name: "rider_heartbeat", source: PackageResources.rider_heartbeat_lua)
    package static let expireRider = RedisScript(name: "expire_rider", source: PackageResources.expire_rider_lua)
    package static let describeRider = RedisScript(name: "describe_rider", source: PackageResources.describe_rider_lua)
    package static let removeRider = RedisScript(name: "remove_rider", source: PackageResources.remove_rider_lua)
    package static let riderSnapshot = RedisScript(name: "rider_snapshot", source: PackageResources.rider_snapshot_lua)
    package static let zoneSnapshot = RedisScript(name: "zone_snapshot", source: PackageResources.zone_snapshot_lua)
    package static let placeRider = RedisScript(name: "place_rider", source: PackageResources.place_rider_lua)
}
