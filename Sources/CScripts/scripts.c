// Embeds the Lua scripts in the binary with `#embed` (C23); CWebAssets explains why. To add a script, add its bytes and its
// line in the table here, and an entry in LiveState/Scripts.swift. A test compares the table with the folder.

#include "scripts.h"

static const unsigned char advance_task_lua[] = {
#embed "../../lua/advance_task.lua"
};
static const unsigned char assign_job_lua[] = {
#embed "../../lua/assign_job.lua"
};
static const unsigned char assign_rider_lua[] = {
#embed "../../lua/assign_rider.lua"
};
static const unsigned char claim_request_lua[] = {
#embed "../../lua/claim_request.lua"
};
static const unsigned char close_feed_lua[] = {
#embed "../../lua/close_feed.lua"
};
static const unsigned char correct_job_lua[] = {
#embed "../../lua/correct_job.lua"
};
static const unsigned char create_job_lua[] = {
#embed "../../lua/create_job.lua"
};
static const unsigned char describe_job_lua[] = {
#embed "../../lua/describe_job.lua"
};
static const unsigned char describe_rider_lua[] = {
#embed "../../lua/describe_rider.lua"
};
static const unsigned char drop_link_lua[] = {
#embed "../../lua/drop_link.lua"
};
static const unsigned char drop_listed_lua[] = {
#embed "../../lua/drop_listed.lua"
};
static const unsigned char drop_waiting_lua[] = {
#embed "../../lua/drop_waiting.lua"
};
static const unsigned char enlist_webhook_lua[] = {
#embed "../../lua/enlist_webhook.lua"
};
static const unsigned char erase_job_lua[] = {
#embed "../../lua/erase_job.lua"
};
static const unsigned char expire_rider_lua[] = {
#embed "../../lua/expire_rider.lua"
};
static const unsigned char finish_joining_lua[] = {
#embed "../../lua/finish_joining.lua"
};
static const unsigned char forget_events_lua[] = {
#embed "../../lua/forget_events.lua"
};
static const unsigned char forward_event_lua[] = {
#embed "../../lua/forward_event.lua"
};
static const unsigned char hold_lease_lua[] = {
#embed "../../lua/hold_lease.lua"
};
static const unsigned char issue_link_lua[] = {
#embed "../../lua/issue_link.lua"
};
static const unsigned char join_link_lua[] = {
#embed "../../lua/join_link.lua"
};
static const unsigned char keep_note_lua[] = {
#embed "../../lua/keep_note.lua"
};
static const unsigned char keep_push_lua[] = {
#embed "../../lua/keep_push.lua"
};
static const unsigned char list_link_lua[] = {
#embed "../../lua/list_link.lua"
};
static const unsigned char note_job_lua[] = {
#embed "../../lua/note_job.lua"
};
static const unsigned char note_verdicts_lua[] = {
#embed "../../lua/note_verdicts.lua"
};
static const unsigned char note_webhook_lua[] = {
#embed "../../lua/note_webhook.lua"
};
static const unsigned char open_feed_lua[] = {
#embed "../../lua/open_feed.lua"
};
static const unsigned char park_event_lua[] = {
#embed "../../lua/park_event.lua"
};
static const unsigned char place_riders_lua[] = {
#embed "../../lua/place_riders.lua"
};
static const unsigned char publish_eta_lua[] = {
#embed "../../lua/publish_eta.lua"
};
static const unsigned char publish_location_lua[] = {
#embed "../../lua/publish_location.lua"
};
static const unsigned char publish_status_lua[] = {
#embed "../../lua/publish_status.lua"
};
static const unsigned char record_late_lua[] = {
#embed "../../lua/record_late.lua"
};
static const unsigned char recover_job_lua[] = {
#embed "../../lua/recover_job.lua"
};
static const unsigned char refresh_job_lua[] = {
#embed "../../lua/refresh_job.lua"
};
static const unsigned char release_feed_lua[] = {
#embed "../../lua/release_feed.lua"
};
static const unsigned char release_rider_lua[] = {
#embed "../../lua/release_rider.lua"
};
static const unsigned char remove_rider_lua[] = {
#embed "../../lua/remove_rider.lua"
};
static const unsigned char replay_event_lua[] = {
#embed "../../lua/replay_event.lua"
};
static const unsigned char revoke_grant_lua[] = {
#embed "../../lua/revoke_grant.lua"
};
static const unsigned char rider_heartbeat_lua[] = {
#embed "../../lua/rider_heartbeat.lua"
};
static const unsigned char rider_snapshot_lua[] = {
#embed "../../lua/rider_snapshot.lua"
};
static const unsigned char rotate_webhook_lua[] = {
#embed "../../lua/rotate_webhook.lua"
};
static const unsigned char set_rider_offline_lua[] = {
#embed "../../lua/set_rider_offline.lua"
};
static const unsigned char set_rider_online_lua[] = {
#embed "../../lua/set_rider_online.lua"
};
static const unsigned char settle_event_lua[] = {
#embed "../../lua/settle_event.lua"
};
static const unsigned char settle_request_lua[] = {
#embed "../../lua/settle_request.lua"
};
static const unsigned char start_travel_lua[] = {
#embed "../../lua/start_travel.lua"
};
static const unsigned char stop_travel_lua[] = {
#embed "../../lua/stop_travel.lua"
};
static const unsigned char switch_on_webhook_lua[] = {
#embed "../../lua/switch_on_webhook.lua"
};
static const unsigned char take_push_lua[] = {
#embed "../../lua/take_push.lua"
};
static const unsigned char zone_snapshot_lua[] = {
#embed "../../lua/zone_snapshot.lua"
};

#define FILE_OF(name, bytes) {name, bytes, sizeof(bytes)}

static const struct enroute_scripts_file files[] = {
    FILE_OF("advance_task.lua", advance_task_lua),
    FILE_OF("assign_job.lua", assign_job_lua),
    FILE_OF("assign_rider.lua", assign_rider_lua),
    FILE_OF("claim_request.lua", claim_request_lua),
    FILE_OF("close_feed.lua", close_feed_lua),
    FILE_OF("correct_job.lua", correct_job_lua),
    FILE_OF("create_job.lua", create_job_lua),
    FILE_OF("describe_job.lua", describe_job_lua),
    FILE_OF("describe_rider.lua", describe_rider_lua),
    FILE_OF("drop_link.lua", drop_link_lua),
    FILE_OF("drop_listed.lua", drop_listed_lua),
    FILE_OF("drop_waiting.lua", drop_waiting_lua),
    FILE_OF("enlist_webhook.lua", enlist_webhook_lua),
    FILE_OF("erase_job.lua", erase_job_lua),
    FILE_OF("expire_rider.lua", expire_rider_lua),
    FILE_OF("finish_joining.lua", finish_joining_lua),
    FILE_OF("forget_events.lua", forget_events_lua),
    FILE_OF("forward_event.lua", forward_event_lua),
    FILE_OF("hold_lease.lua", hold_lease_lua),
    FILE_OF("issue_link.lua", issue_link_lua),
    FILE_OF("join_link.lua", join_link_lua),
    FILE_OF("keep_note.lua", keep_note_lua),
    FILE_OF("keep_push.lua", keep_push_lua),
    FILE_OF("list_link.lua", list_link_lua),
    FILE_OF("note_job.lua", note_job_lua),
    FILE_OF("note_verdicts.lua", note_verdicts_lua),
    FILE_OF("note_webhook.lua", note_webhook_lua),
    FILE_OF("open_feed.lua", open_feed_lua),
    FILE_OF("park_event.lua", park_event_lua),
    FILE_OF("place_riders.lua", place_riders_lua),
    FILE_OF("publish_eta.lua", publish_eta_lua),
    FILE_OF("publish_location.lua", publish_location_lua),
    FILE_OF("publish_status.lua", publish_status_lua),
    FILE_OF("record_late.lua", record_late_lua),
    FILE_OF("recover_job.lua", recover_job_lua),
    FILE_OF("refresh_job.lua", refresh_job_lua),
    FILE_OF("release_feed.lua", release_feed_lua),
    FILE_OF("release_rider.lua", release_rider_lua),
    FILE_OF("remove_rider.lua", remove_rider_lua),
    FILE_OF("replay_event.lua", replay_event_lua),
    FILE_OF("revoke_grant.lua", revoke_grant_lua),
    FILE_OF("rider_heartbeat.lua", rider_heartbeat_lua),
    FILE_OF("rider_snapshot.lua", rider_snapshot_lua),
    FILE_OF("rotate_webhook.lua", rotate_webhook_lua),
    FILE_OF("set_rider_offline.lua", set_rider_offline_lua),
    FILE_OF("set_rider_online.lua", set_rider_online_lua),
    FILE_OF("settle_event.lua", settle_event_lua),
    FILE_OF("settle_request.lua", settle_request_lua),
    FILE_OF("start_travel.lua", start_travel_lua),
    FILE_OF("stop_travel.lua", stop_travel_lua),
    FILE_OF("switch_on_webhook.lua", switch_on_webhook_lua),
    FILE_OF("take_push.lua", take_push_lua),
    FILE_OF("zone_snapshot.lua", zone_snapshot_lua),
};

struct enroute_scripts_table enroute_scripts(void) {
    return (struct enroute_scripts_table){files, sizeof(files) / sizeof(files[0])};
}
