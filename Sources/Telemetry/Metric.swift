// The register of all counters. It is a closed list: label values are enumerated here, so no label can hold an
// ID and the number of time series is bounded. MetricFamily.swift has their names and help texts.

/// A counter. Each case is one time series: a metric name with one set of label values.
package enum Metric: Int, CaseIterable, Sendable {
    case connectionsAccepted
    case connectionsRefusedByAddress
    case proxyHeadersMissing, proxyHeadersMalformed, proxyHeadersTimedOut, proxyHeadersUntrusted
    case sessionsOpened
    case sessionsRefusedByPerson, sessionsRefusedByAddress, sessionsRefusedByLink
    case handshakesTimedOut, requestsTimedOut, bodiesTimedOut, signInsTimedOut, pongsTimedOut, writesStalled,
        closesTimedOut
    case messagesReceived, messagesRefusedByRate, messagesNotUnderstood, messagesFailed
    case positionsConflatedIn, positionsConflatedOut
    case messagesRelayed, messagesQueued
    case outboxOverflows
    case requestsRefusedByRate, tokensRefused
    case requestsLockedOut, anonymousRequestsRefused, tilesRefused, requestsMalformed, originsRefused
    case acceptPauses, sessionsShed, sessionsExpired
    case jobRepairResyncs, jobCheckResyncs, jobMismatches, redisOutages, positionsBuffered
    case fixesAccepted, fixesHeld, fixesOutOfRange, fixesZeroZero, fixesFuture, fixesStale, fixesOutOfOrder
    case fixesDuplicate, fixesInaccurate, fixesImplausible, fixesWithoutTravel, fixesWrongClock,
        fixesOfOtherDevice, fixesMocked
    case revocationsApplied, sessionsRevoked, connectionsReset, positionsSuppressed
    case auditEntriesLost
    case changesDeferred, changesFinished, changesAbandoned
    case zoneRepairResyncs, zoneCheckResyncs, zoneMismatches, zoneJobsResets
    case ridersUnreachable, ridersUnreachableWithTask, ridersExpired, offlineRefused, tasksReleased
    case jwksFetched, jwksFetchFailed
    case eventsApplied, eventsRepeated, eventsSuperseded
    case eventsNotYet, eventsUnprocessable, eventsMalformed, eventsForged, eventsFailed
    case webhooksDelivered, webhooksFailed, webhooksGivenUp, webhooksSwitchedOff, webhookGaps, webhooksFull
    case pushesSent, pushesGone, pushesFailed, pushesRefused
    case closedGoingAway, closedOverloaded, closedRateLimited, closedBadMessages, closedTooBig, closedProtocolError

    /// The metric name and help text, which the series of one family share.
    package var family: Family {
        switch self {
        case .connectionsAccepted: .connectionsAccepted
        case .connectionsRefusedByAddress: .connectionsRefused
        case .proxyHeadersMissing, .proxyHeadersMalformed, .proxyHeadersTimedOut, .proxyHeadersUntrusted:
            .proxyHeadersRefused
        case .sessionsOpened: .sessionsOpened
        case .sessionsRefusedByPerson, .sessionsRefusedByAddress, .sessionsRefusedByLink: .sessionsRefused
        case .handshakesTimedOut, .requestsTimedOut, .bodiesTimedOut, .signInsTimedOut, .pongsTimedOut, .writesStalled,
            .closesTimedOut:
            .timeouts
        case .messagesReceived: .messagesReceived
        case .messagesRefusedByRate, .messagesNotUnderstood: .messagesRefused
        case .positionsConflatedIn, .positionsConflatedOut: .positionsConflated
        case .messagesFailed: .messagesFailed
        case .messagesRelayed: .messagesRelayed
        case .messagesQueued: .messagesQueued
        case .outboxOverflows: .outboxOverflows
        case .requestsRefusedByRate, .tokensRefused, .requestsLockedOut, .anonymousRequestsRefused, .tilesRefused,
            .requestsMalformed, .originsRefused:
            .requestsRefused
        case .acceptPauses: .acceptPauses
        case .sessionsShed: .sessionsShed
        case .sessionsExpired: .sessionsExpired
        case .jobRepairResyncs, .jobCheckResyncs, .zoneRepairResyncs, .zoneCheckResyncs: .resyncs
        case .jobMismatches, .zoneMismatches: .resyncMismatches
        case .zoneJobsResets: .zoneJobsResets
        case .redisOutages: .redisOutages
        case .positionsBuffered: .positionsBuffered
        case .fixesAccepted, .fixesHeld, .fixesOutOfRange, .fixesZeroZero, .fixesFuture, .fixesStale, .fixesOutOfOrder,
            .fixesDuplicate, .fixesInaccurate, .fixesImplausible, .fixesWithoutTravel, .fixesWrongClock,
            .fixesOfOtherDevice, .fixesMocked:
            .locationsValidated
        case .revocationsApplied: .revocationsApplied
        case .sessionsRevoked: .sessionsRevoked
        case .connectionsReset: .connectionsReset
        case .positionsSuppressed: .positionsSuppressed
        case .auditEntriesLost: .auditEntriesLost
        case .changesDeferred, .changesFinished, .changesAbandoned: .unfinishedChanges
        case .ridersUnreachable, .ridersUnreachableWithTask, .ridersExpired: .riderTimeouts
        case .offlineRefused: .offlineRefused
        case .tasksReleased: .tasksReleased
        case .jwksFetched, .jwksFetchFailed: .jwksFetches
        case .eventsApplied, .eventsRepeated, .eventsSuperseded: .eventsProcessed
        case .eventsNotYet, .eventsUnprocessable, .eventsMalformed, .eventsForged, .eventsFailed: .eventsRefused
        case .webhooksDelivered, .webhooksFailed, .webhooksGivenUp: .webhookDeliveries
        case .pushesSent, .pushesGone, .pushesFailed, .pushesRefused: .pushMessages
        case .webhooksSwitchedOff: .webhooksSwitchedOff
        case .webhookGaps: .webhookGaps
        case .webhooksFull: .webhooksFull
        case .closedGoingAway, .closedOverloaded, .closedRateLimited, .closedBadMessages, .closedTooBig,
            .closedProtocolError:
            .sessionsClosed
        }
    }

    /// The labels of this series; empty if its family has only one series.
    package var labels: [(name: String, value: String)] {
        switch self {
        case .connectionsRefusedByAddress: [("limit", "connections_per_address")]
        case .proxyHeadersMissing: [("reason", "missing")]
        case .proxyHeadersMalformed: [("reason", "malformed")]
        case .proxyHeadersTimedOut: [("reason", "timeout")]
        case .proxyHeadersUntrusted: [("reason", "untrusted")]
        case .sessionsRefusedByPerson: [("limit", "sessions_per_person")]
        case .sessionsRefusedByAddress: [("limit", "sessions_per_address")]
        case .sessionsRefusedByLink: [("limit", "viewers_per_link")]
        case .handshakesTimedOut: [("phase", "handshake")]
        case .requestsTimedOut: [("phase", "first_request")]
        case .bodiesTimedOut: [("phase", "body")]
        case .signInsTimedOut: [("phase", "sign_in")]
        case .pongsTimedOut: [("phase", "pong")]
        case .writesStalled: [("phase", "write")]
        case .closesTimedOut: [("phase", "close")]
        case .messagesRefusedByRate: [("reason", "rate")]
        case .messagesNotUnderstood: [("reason", "malformed")]
        case .positionsConflatedIn: [("direction", "in")]
        case .positionsConflatedOut: [("direction", "out")]
        case .requestsRefusedByRate: [("reason", "rate")]
        case .tokensRefused: [("reason", "invalid_token")]
        case .requestsLockedOut: [("reason", "invalid_tokens_per_address")]
        case .anonymousRequestsRefused: [("reason", "anonymous_requests_per_address")]
        case .tilesRefused: [("reason", "tiles_per_address")]
        case .requestsMalformed: [("reason", "malformed")]
        case .originsRefused: [("reason", "origin")]
        case .fixesAccepted: [("verdict", "accepted")]
        case .fixesHeld: [("verdict", "held")]
        case .fixesOutOfRange: [("verdict", "out_of_range")]
        case .fixesZeroZero: [("verdict", "zero_zero")]
        case .fixesFuture: [("verdict", "future")]
        case .fixesStale: [("verdict", "stale")]
        case .fixesOutOfOrder: [("verdict", "out_of_order")]
        case .fixesDuplicate: [("verdict", "duplicate")]
        case .fixesInaccurate: [("verdict", "inaccurate")]
        case .fixesImplausible: [("verdict", "implausible_speed")]
        case .fixesWithoutTravel: [("verdict", "travel_mode_off")]
        case .fixesWrongClock: [("verdict", "clock")]
        case .fixesOfOtherDevice: [("verdict", "other_device")]
        case .fixesMocked: [("verdict", "mocked")]
        case .jobRepairResyncs: [("kind", "job"), ("reason", "repair")]
        case .jobCheckResyncs: [("kind", "job"), ("reason", "check")]
        case .zoneRepairResyncs: [("kind", "zone"), ("reason", "repair")]
        case .zoneCheckResyncs: [("kind", "zone"), ("reason", "check")]
        case .jobMismatches: [("kind", "job")]
        case .zoneMismatches: [("kind", "zone")]
        case .changesDeferred: [("outcome", "deferred")]
        case .changesFinished: [("outcome", "finished")]
        case .changesAbandoned: [("outcome", "abandoned")]
        case .ridersUnreachable: [("outcome", "unreachable")]
        case .ridersUnreachableWithTask: [("outcome", "unreachable_with_task")]
        case .ridersExpired: [("outcome", "expired")]
        case .jwksFetched: [("outcome", "succeeded")]
        case .jwksFetchFailed: [("outcome", "failed")]
        case .eventsApplied: [("outcome", "applied")]
        case .eventsRepeated: [("outcome", "repeated")]
        case .eventsSuperseded: [("outcome", "superseded")]
        case .eventsNotYet: [("reason", "not_yet")]
        case .eventsUnprocessable: [("reason", "unprocessable")]
        case .eventsMalformed: [("reason", "malformed")]
        case .eventsForged: [("reason", "forged")]
        case .eventsFailed: [("reason", "failed")]
        case .pushesSent: [("outcome", "sent")]
        case .pushesGone: [("outcome", "gone")]
        case .pushesFailed: [("outcome", "failed")]
        case .pushesRefused: [("outcome", "refused")]
        case .webhooksDelivered: [("outcome", "delivered")]
        case .webhooksFailed: [("outcome", "failed")]
        case .webhooksGivenUp: [("outcome", "given_up")]
        case .closedGoingAway: [("code", "4000")]
        case .closedOverloaded: [("code", "4004")]
        case .closedRateLimited: [("code", "4006")]
        case .closedBadMessages: [("code", "4505")]
        case .closedTooBig: [("code", "1009")]
        case .closedProtocolError: [("code", "1002")]
        default: []
        }
    }
}

/// The counters of one event loop. Each loop increments its own without synchronization; a scrape adds them up.
package struct Counts: Sendable {
    private var values = [Int](repeating: 0, count: Metric.allCases.count)

    package init() {}

    package subscript(metric: Metric) -> Int { self.values[metric.rawValue] }

    package mutating func add(_ metric: Metric, _ amount: Int = 1) { self.values[metric.rawValue] += amount }

    package mutating func add(_ other: Counts) {
        for index in self.values.indices { self.values[index] += other.values[index] }
    }
}

/// Prometheus text format 0.0.4.
package enum Exposition {
    package static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

    package static func text(_ counts: Counts, _ gauges: [GaugeSamples]) -> String {
        var lines: [String] = []
        for family in Metric.Family.allCases {
            lines.append("# HELP \(family.rawValue) \(family.help)")
            lines.append("# TYPE \(family.rawValue) counter")
            for metric in Metric.allCases where metric.family == family {
                let labels = metric.labels.map { "\($0.name)=\"\($0.value)\"" }.joined(separator: ",")
                lines.append("\(family.rawValue)\(labels.isEmpty ? "" : "{\(labels)}") \(counts[metric])")
            }
        }
        for gauge in gauges { lines += gauge.lines }
        return lines.joined(separator: "\n") + "\n"
    }
}
