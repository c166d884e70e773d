// Embeds the pages, their assets and the parts of the API documents in the binary with `#embed` (C23). As Swift literals the
// same bytes took 40 s of a 57 s debug build of Gateway. Here they take no measurable time, and a change compiles only this
// file, because the compiler tracks embedded files as dependencies.
//
// To add a file, add its bytes and its line in the table. A test compares the table with the folders.

#include "web-assets.h"

static const unsigned char enroute_connection_js[] = {
#embed "../WebAssets/web/enroute-connection.js"
};
static const unsigned char enroute_timing_js[] = {
#embed "../WebAssets/web/enroute-timing.js"
};
static const unsigned char enroute_rest_js[] = {
#embed "../WebAssets/web/enroute-rest.js"
};
static const unsigned char enroute_route_js[] = {
#embed "../WebAssets/web/enroute-route.js"
};
static const unsigned char enroute_view_js[] = {
#embed "../WebAssets/web/enroute-view.js"
};
static const unsigned char enroute_words_js[] = {
#embed "../WebAssets/web/enroute-words.js"
};
static const unsigned char enroute_js[] = {
#embed "../WebAssets/web/enroute.js"
};
static const unsigned char docs_css[] = {
#embed "../WebAssets/web/docs.css"
};
static const unsigned char docs_html[] = {
#embed "../WebAssets/web/docs.html"
};
static const unsigned char docs_js[] = {
#embed "../WebAssets/web/docs.js"
};
static const unsigned char map_features_js[] = {
#embed "../WebAssets/web/map-features.js"
};
static const unsigned char map_labels_js[] = {
#embed "../WebAssets/web/map-labels.js"
};
static const unsigned char map_css[] = {
#embed "../WebAssets/web/map.css"
};
static const unsigned char map_streets_js[] = {
#embed "../WebAssets/web/map-streets.js"
};
static const unsigned char notice_html[] = {
#embed "../WebAssets/web/notice.html"
};
static const unsigned char ops_actions_js[] = {
#embed "../WebAssets/web/ops-actions.js"
};
static const unsigned char ops_attention_js[] = {
#embed "../WebAssets/web/ops-attention.js"
};
static const unsigned char ops_base_map_js[] = {
#embed "../WebAssets/web/ops-base-map.js"
};
static const unsigned char ops_bulk_js[] = {
#embed "../WebAssets/web/ops-bulk.js"
};
static const unsigned char ops_canvas_js[] = {
#embed "../WebAssets/web/ops-canvas.js"
};
static const unsigned char ops_columns_js[] = {
#embed "../WebAssets/web/ops-columns.js"
};
static const unsigned char ops_desk_words_js[] = {
#embed "../WebAssets/web/ops-desk-words.js"
};
static const unsigned char ops_feed_js[] = {
#embed "../WebAssets/web/ops-feed.js"
};
static const unsigned char ops_field_js[] = {
#embed "../WebAssets/web/ops-field.js"
};
static const unsigned char ops_map_js[] = {
#embed "../WebAssets/web/ops-map.js"
};
static const unsigned char ops_places_js[] = {
#embed "../WebAssets/web/ops-places.js"
};
static const unsigned char ops_queue_js[] = {
#embed "../WebAssets/web/ops-queue.js"
};
static const unsigned char ops_views_js[] = {
#embed "../WebAssets/web/ops-views.js"
};
static const unsigned char ops_polling_js[] = {
#embed "../WebAssets/web/ops-polling.js"
};
static const unsigned char ops_filter_js[] = {
#embed "../WebAssets/web/ops-filter.js"
};
static const unsigned char ops_job_js[] = {
#embed "../WebAssets/web/ops-job.js"
};
static const unsigned char ops_list_js[] = {
#embed "../WebAssets/web/ops-list.js"
};
static const unsigned char ops_panels_js[] = {
#embed "../WebAssets/web/ops-panels.js"
};
static const unsigned char ops_table_js[] = {
#embed "../WebAssets/web/ops-table.js"
};
static const unsigned char ops_webhooks_js[] = {
#embed "../WebAssets/web/ops-webhooks.js"
};
static const unsigned char ops_words_js[] = {
#embed "../WebAssets/web/ops-words.js"
};
static const unsigned char ops_css[] = {
#embed "../WebAssets/web/ops.css"
};
static const unsigned char ops_html[] = {
#embed "../WebAssets/web/ops.html"
};
static const unsigned char ops_js[] = {
#embed "../WebAssets/web/ops.js"
};
static const unsigned char page_contact_js[] = {
#embed "../WebAssets/web/page-contact.js"
};
static const unsigned char page_gateway_js[] = {
#embed "../WebAssets/web/page-gateway.js"
};
static const unsigned char page_lists_js[] = {
#embed "../WebAssets/web/page-lists.js"
};
static const unsigned char page_rescue_js[] = {
#embed "../WebAssets/web/page-rescue.js"
};
static const unsigned char page_sign_in_js[] = {
#embed "../WebAssets/web/page-sign-in.js"
};
static const unsigned char page_times_js[] = {
#embed "../WebAssets/web/page-times.js"
};
static const unsigned char page_storage_js[] = {
#embed "../WebAssets/web/page-storage.js"
};
static const unsigned char page_words_js[] = {
#embed "../WebAssets/web/page-words.js"
};
static const unsigned char page_css[] = {
#embed "../WebAssets/web/page.css"
};
static const unsigned char page_js[] = {
#embed "../WebAssets/web/page.js"
};
static const unsigned char rider_alert_js[] = {
#embed "../WebAssets/web/rider-alert.js"
};
static const unsigned char rider_availability_js[] = {
#embed "../WebAssets/web/rider-availability.js"
};
static const unsigned char rider_buttons_js[] = {
#embed "../WebAssets/web/rider-buttons.js"
};
static const unsigned char rider_device_js[] = {
#embed "../WebAssets/web/rider-device.js"
};
static const unsigned char rider_jobs_js[] = {
#embed "../WebAssets/web/rider-jobs.js"
};
static const unsigned char rider_latest_request_js[] = {
#embed "../WebAssets/web/rider-latest-request.js"
};
static const unsigned char rider_list_js[] = {
#embed "../WebAssets/web/rider-list.js"
};
static const unsigned char rider_location_js[] = {
#embed "../WebAssets/web/rider-location.js"
};
static const unsigned char rider_map_js[] = {
#embed "../WebAssets/web/rider-map.js"
};
static const unsigned char rider_maps_js[] = {
#embed "../WebAssets/web/rider-maps.js"
};
static const unsigned char rider_navigation_js[] = {
#embed "../WebAssets/web/rider-navigation.js"
};
static const unsigned char rider_panel_js[] = {
#embed "../WebAssets/web/rider-panel.js"
};
static const unsigned char rider_permission_words_js[] = {
#embed "../WebAssets/web/rider-permission-words.js"
};
static const unsigned char rider_permission_js[] = {
#embed "../WebAssets/web/rider-permission.js"
};
static const unsigned char rider_route_js[] = {
#embed "../WebAssets/web/rider-route.js"
};
static const unsigned char rider_sharing_js[] = {
#embed "../WebAssets/web/rider-sharing.js"
};
static const unsigned char rider_sheet_js[] = {
#embed "../WebAssets/web/rider-sheet.js"
};
static const unsigned char rider_steps_js[] = {
#embed "../WebAssets/web/rider-steps.js"
};
static const unsigned char rider_stops_js[] = {
#embed "../WebAssets/web/rider-stops.js"
};
static const unsigned char rider_unavailability_js[] = {
#embed "../WebAssets/web/rider-unavailability.js"
};
static const unsigned char rider_tasks_js[] = {
#embed "../WebAssets/web/rider-tasks.js"
};
static const unsigned char rider_travel_js[] = {
#embed "../WebAssets/web/rider-travel.js"
};
static const unsigned char rider_words_js[] = {
#embed "../WebAssets/web/rider-words.js"
};
static const unsigned char rider_css[] = {
#embed "../WebAssets/web/rider.css"
};
static const unsigned char rider_html[] = {
#embed "../WebAssets/web/rider.html"
};
static const unsigned char rider_js[] = {
#embed "../WebAssets/web/rider.js"
};
static const unsigned char track_first_js[] = {
#embed "../WebAssets/web/track-first.js"
};
static const unsigned char track_celebration_js[] = {
#embed "../WebAssets/web/track-celebration.js"
};
static const unsigned char track_parts_js[] = {
#embed "../WebAssets/web/track-parts.js"
};
static const unsigned char track_promise_js[] = {
#embed "../WebAssets/web/track-promise.js"
};
static const unsigned char track_push_js[] = {
#embed "../WebAssets/web/track-push.js"
};
static const unsigned char track_request_js[] = {
#embed "../WebAssets/web/track-request.js"
};
static const unsigned char track_share_js[] = {
#embed "../WebAssets/web/track-share.js"
};
static const unsigned char track_start_js[] = {
#embed "../WebAssets/web/track-start.js"
};
static const unsigned char track_story_js[] = {
#embed "../WebAssets/web/track-story.js"
};
static const unsigned char track_base_map_js[] = {
#embed "../WebAssets/web/track-base-map.js"
};
static const unsigned char track_icons_js[] = {
#embed "../WebAssets/web/track-icons.js"
};
static const unsigned char track_map_js[] = {
#embed "../WebAssets/web/track-map.js"
};
static const unsigned char track_movement_js[] = {
#embed "../WebAssets/web/track-movement.js"
};
static const unsigned char track_presentation_js[] = {
#embed "../WebAssets/web/track-presentation.js"
};
static const unsigned char track_announcements_js[] = {
#embed "../WebAssets/web/track-announcements.js"
};
static const unsigned char track_rider_js[] = {
#embed "../WebAssets/web/track-rider.js"
};
static const unsigned char track_actions_js[] = {
#embed "../WebAssets/web/track-actions.js"
};
static const unsigned char language_template_json[] = {
#embed "../WebAssets/web/language-template.json"
};
static const unsigned char track_words_js[] = {
#embed "../WebAssets/web/track-words.js"
};
static const unsigned char track_css[] = {
#embed "../WebAssets/web/track.css"
};
static const unsigned char track_html[] = {
#embed "../WebAssets/web/track.html"
};
static const unsigned char track_js[] = {
#embed "../WebAssets/web/track.js"
};
static const unsigned char worker_js[] = {
#embed "../WebAssets/web/worker.js"
};
static const unsigned char openapi_json[] = {
#embed "../WebAssets/api/openapi.json"
};
static const unsigned char paths_json[] = {
#embed "../WebAssets/api/paths.json"
};
static const unsigned char job_paths_json[] = {
#embed "../WebAssets/api/job-paths.json"
};
static const unsigned char rider_paths_json[] = {
#embed "../WebAssets/api/rider-paths.json"
};
static const unsigned char page_paths_json[] = {
#embed "../WebAssets/api/page-paths.json"
};
static const unsigned char components_json[] = {
#embed "../WebAssets/api/components.json"
};
static const unsigned char schemas_json[] = {
#embed "../WebAssets/api/schemas.json"
};
static const unsigned char rest_schemas_json[] = {
#embed "../WebAssets/api/rest-schemas.json"
};
static const unsigned char rider_schemas_json[] = {
#embed "../WebAssets/api/rider-schemas.json"
};
static const unsigned char page_schemas_json[] = {
#embed "../WebAssets/api/page-schemas.json"
};
static const unsigned char asyncapi_json[] = {
#embed "../WebAssets/api/asyncapi.json"
};
static const unsigned char client_messages_json[] = {
#embed "../WebAssets/api/client-messages.json"
};
static const unsigned char server_messages_json[] = {
#embed "../WebAssets/api/server-messages.json"
};
static const unsigned char session_security_json[] = {
#embed "../WebAssets/api/session-security.json"
};
static const unsigned char operations_paths_json[] = {
#embed "../WebAssets/api/operations-paths.json"
};
static const unsigned char operations_schemas_json[] = {
#embed "../WebAssets/api/operations-schemas.json"
};
static const unsigned char webhook_paths_json[] = {
#embed "../WebAssets/api/webhook-paths.json"
};
static const unsigned char webhook_schemas_json[] = {
#embed "../WebAssets/api/webhook-schemas.json"
};
static const unsigned char webhooks_json[] = {
#embed "../WebAssets/api/webhooks.json"
};

static const unsigned char demo_phone_js[] = {
#embed "../enroute/Demo/Panel/demo-phone.js"
};
static const unsigned char stage_html[] = {
#embed "../enroute/Demo/Panel/stage.html"
};
static const unsigned char stage_js[] = {
#embed "../enroute/Demo/Panel/stage.js"
};
static const unsigned char stage_css[] = {
#embed "../enroute/Demo/Panel/stage.css"
};

#define ASSET(name, bytes) {name, bytes, sizeof(bytes)}

static const struct enroute_asset page_files[] = {
    ASSET("enroute-connection.js", enroute_connection_js),
    ASSET("enroute-timing.js", enroute_timing_js),
    ASSET("enroute-rest.js", enroute_rest_js),
    ASSET("enroute-route.js", enroute_route_js),
    ASSET("enroute-view.js", enroute_view_js),
    ASSET("enroute-words.js", enroute_words_js),
    ASSET("enroute.js", enroute_js),
    ASSET("docs.css", docs_css),
    ASSET("docs.html", docs_html),
    ASSET("docs.js", docs_js),
    ASSET("map-features.js", map_features_js),
    ASSET("map-labels.js", map_labels_js),
    ASSET("map-streets.js", map_streets_js),
    ASSET("map.css", map_css),
    ASSET("notice.html", notice_html),
    ASSET("ops-actions.js", ops_actions_js),
    ASSET("ops-attention.js", ops_attention_js),
    ASSET("ops-base-map.js", ops_base_map_js),
    ASSET("ops-bulk.js", ops_bulk_js),
    ASSET("ops-canvas.js", ops_canvas_js),
    ASSET("ops-columns.js", ops_columns_js),
    ASSET("ops-desk-words.js", ops_desk_words_js),
    ASSET("ops-feed.js", ops_feed_js),
    ASSET("ops-field.js", ops_field_js),
    ASSET("ops-map.js", ops_map_js),
    ASSET("ops-places.js", ops_places_js),
    ASSET("ops-queue.js", ops_queue_js),
    ASSET("ops-views.js", ops_views_js),
    ASSET("ops-polling.js", ops_polling_js),
    ASSET("ops-filter.js", ops_filter_js),
    ASSET("ops-job.js", ops_job_js),
    ASSET("ops-list.js", ops_list_js),
    ASSET("ops-panels.js", ops_panels_js),
    ASSET("ops-table.js", ops_table_js),
    ASSET("ops-webhooks.js", ops_webhooks_js),
    ASSET("ops-words.js", ops_words_js),
    ASSET("ops.css", ops_css),
    ASSET("ops.html", ops_html),
    ASSET("ops.js", ops_js),
    ASSET("page-contact.js", page_contact_js),
    ASSET("page-gateway.js", page_gateway_js),
    ASSET("page-lists.js", page_lists_js),
    ASSET("page-rescue.js", page_rescue_js),
    ASSET("page-sign-in.js", page_sign_in_js),
    ASSET("page-storage.js", page_storage_js),
    ASSET("page-times.js", page_times_js),
    ASSET("page-words.js", page_words_js),
    ASSET("page.css", page_css),
    ASSET("page.js", page_js),
    ASSET("rider-alert.js", rider_alert_js),
    ASSET("rider-availability.js", rider_availability_js),
    ASSET("rider-buttons.js", rider_buttons_js),
    ASSET("rider-device.js", rider_device_js),
    ASSET("rider-jobs.js", rider_jobs_js),
    ASSET("rider-latest-request.js", rider_latest_request_js),
    ASSET("rider-list.js", rider_list_js),
    ASSET("rider-location.js", rider_location_js),
    ASSET("rider-map.js", rider_map_js),
    ASSET("rider-maps.js", rider_maps_js),
    ASSET("rider-navigation.js", rider_navigation_js),
    ASSET("rider-panel.js", rider_panel_js),
    ASSET("rider-permission-words.js", rider_permission_words_js),
    ASSET("rider-permission.js", rider_permission_js),
    ASSET("rider-route.js", rider_route_js),
    ASSET("rider-sharing.js", rider_sharing_js),
    ASSET("rider-sheet.js", rider_sheet_js),
    ASSET("rider-steps.js", rider_steps_js),
    ASSET("rider-stops.js", rider_stops_js),
    ASSET("rider-unavailability.js", rider_unavailability_js),
    ASSET("rider-tasks.js", rider_tasks_js),
    ASSET("rider-travel.js", rider_travel_js),
    ASSET("rider-words.js", rider_words_js),
    ASSET("rider.css", rider_css),
    ASSET("rider.html", rider_html),
    ASSET("rider.js", rider_js),
    ASSET("track-first.js", track_first_js),
    ASSET("track-base-map.js", track_base_map_js),
    ASSET("track-celebration.js", track_celebration_js),
    ASSET("track-parts.js", track_parts_js),
    ASSET("track-promise.js", track_promise_js),
    ASSET("track-push.js", track_push_js),
    ASSET("track-request.js", track_request_js),
    ASSET("track-share.js", track_share_js),
    ASSET("track-start.js", track_start_js),
    ASSET("track-story.js", track_story_js),
    ASSET("track-icons.js", track_icons_js),
    ASSET("track-map.js", track_map_js),
    ASSET("track-movement.js", track_movement_js),
    ASSET("track-presentation.js", track_presentation_js),
    ASSET("track-announcements.js", track_announcements_js),
    ASSET("track-rider.js", track_rider_js),
    ASSET("track-actions.js", track_actions_js),
    ASSET("language-template.json", language_template_json),
    ASSET("track-words.js", track_words_js),
    ASSET("track.css", track_css),
    ASSET("track.html", track_html),
    ASSET("track.js", track_js),
    ASSET("worker.js", worker_js),
};

struct enroute_assets enroute_page_files(void) {
    return (struct enroute_assets){page_files, sizeof(page_files) / sizeof(page_files[0])};
}

static const struct enroute_asset document_parts[] = {
    ASSET("openapi.json", openapi_json),
    ASSET("paths.json", paths_json),
    ASSET("job-paths.json", job_paths_json),
    ASSET("rider-paths.json", rider_paths_json),
    ASSET("page-paths.json", page_paths_json),
    ASSET("components.json", components_json),
    ASSET("schemas.json", schemas_json),
    ASSET("rest-schemas.json", rest_schemas_json),
    ASSET("rider-schemas.json", rider_schemas_json),
    ASSET("page-schemas.json", page_schemas_json),
    ASSET("asyncapi.json", asyncapi_json),
    ASSET("client-messages.json", client_messages_json),
    ASSET("server-messages.json", server_messages_json),
    ASSET("session-security.json", session_security_json),
    ASSET("operations-paths.json", operations_paths_json),
    ASSET("operations-schemas.json", operations_schemas_json),
    ASSET("webhook-paths.json", webhook_paths_json),
    ASSET("webhook-schemas.json", webhook_schemas_json),
    ASSET("webhooks.json", webhooks_json),
};

struct enroute_assets enroute_document_parts(void) {
    return (struct enroute_assets){document_parts, sizeof(document_parts) / sizeof(document_parts[0])};
}

static const unsigned char close_codes_md[] = {
#embed "../EnrouteWire/protocol/close-codes.md"
};
static const unsigned char limits_md[] = {
#embed "../EnrouteWire/protocol/limits.md"
};

static const struct enroute_asset protocol_documents[] = {
    ASSET("close-codes.md", close_codes_md),
    ASSET("limits.md", limits_md),
};

struct enroute_assets enroute_protocol_documents(void) {
    return (struct enroute_assets){protocol_documents, sizeof(protocol_documents) / sizeof(protocol_documents[0])};
}

static const struct enroute_asset panel_files[] = {
    ASSET("demo-phone.js", demo_phone_js),
    ASSET("stage.css", stage_css),
    ASSET("stage.html", stage_html),
    ASSET("stage.js", stage_js),
};

struct enroute_assets enroute_panel_files(void) {
    return (struct enroute_assets){panel_files, sizeof(panel_files) / sizeof(panel_files[0])};
}
