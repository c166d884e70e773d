// Every metric by its name: a closed list, so that a label is never an id and a name is spelt once.

/// What is counted. Each case is one sample: a metric's name with one value of its label.
package enum Metric: Int, CaseIterable, Sendable {
    case connectionsAccepted
    case connectionsRefusedByAddress
    case sessionsOpened
    case sessionsRefusedByPerson, sessionsRefusedByAddress, sessionsRefusedByLink
    case handshakesTimedOut, requestsTimedOut, bodiesTimedOut, signInsTimedOut, pongsTimedOut, writesStalled,
        closesTimedOut
    case messagesReceived, messagesRefusedByRate, messagesNotUnderstood, messagesFailed
    case positionsConflatedIn, positionsConflatedOut
    case messagesRelayed, messagesWaited
    case queuesOverflowed
    case requestsRefusedByRate, tokensRefused
    case requestsLockedOut, visitsRefused, tilesRefused, requestsMalformed, originsRefused
    case acceptPaused, sessionsShed, sessionsAged
    case jobsRepaired, jobsChecked, jobsBehind, redisOutages, positionsKept
    case fixesAccepted, fixesHeld, fixesOutOfRange, fixesZeroZero, fixesFuture, fixesStale, fixesOutOfOrder
    case fixesDuplicate, fixesInaccurate, fixesImplausible, fixesWithoutTravel
    case revocationsApplied, sessionsRevoked, connectionsReset, positionsWithheld
    case auditEntriesLost
    case zonesRepaired, zonesChecked, zonesBehind
    case ridersUnreachable, ridersUnreachableWithTask, ridersExpired, ridersKeptOnline, tasksReleased
    case keysFetched, keysNotFetched
    case eventsApplied, eventsRepeated, eventsSuperseded
    case eventsEarly, eventsNever, eventsMalformed, eventsForged, eventsFailed
    case closedGoingAway, closedOverloaded, closedRateLimited, closedBadMessages, closedTooBig, closedProtocolError

    /// Prometheus name, with what the counts of one name have in common.
    package var family: Family {
        switch self {
        case .connectionsAccepted: .connectionsAccepted
        case .connectionsRefusedByAddress: .connectionsRefused
        case .sessionsOpened: .sessionsOpened
        case .sessionsRefusedByPerson, .sessionsRefusedByAddress, .sessionsRefusedByLink: .sessionsRefused
        case .handshakesTimedOut, .requestsTimedOut, .bodiesTimedOut, .signInsTimedOut, .pongsTimedOut, .writesStalled,
            .closesTimedOut:
            .deadlinesMissed
        case .messagesReceived: .messagesReceived
        case .messagesRefusedByRate, .messagesNotUnderstood: .messagesRefused
        case .positionsConflatedIn, .positionsConflatedOut: .positionsConflated
        case .messagesFailed: .messagesFailed
        case .messagesRelayed: .messagesRelayed
        case .messagesWaited: .messagesWaited
        case .queuesOverflowed: .queuesOverflowed
        case .requestsRefusedByRate, .tokensRefused, .requestsLockedOut, .visitsRefused, .tilesRefused,
            .requestsMalformed, .originsRefused:
            .requestsRefused
        case .acceptPaused: .acceptPaused
        case .sessionsShed: .sessionsShed
        case .sessionsAged: .sessionsAged
        case .jobsRepaired, .jobsChecked: .jobsReread
        case .jobsBehind: .jobsBehind
        case .redisOutages: .redisOutages
        case .positionsKept: .positionsKept
        case .fixesAccepted, .fixesHeld, .fixesOutOfRange, .fixesZeroZero, .fixesFuture, .fixesStale, .fixesOutOfOrder,
            .fixesDuplicate, .fixesInaccurate, .fixesImplausible, .fixesWithoutTravel:
            .fixesJudged
        case .revocationsApplied: .revocationsApplied
        case .sessionsRevoked: .sessionsRevoked
        case .connectionsReset: .connectionsReset
        case .positionsWithheld: .positionsWithheld
        case .auditEntriesLost: .auditEntriesLost
        case .zonesRepaired, .zonesChecked: .zonesReread
        case .zonesBehind: .zonesBehind
        case .ridersUnreachable, .ridersUnreachableWithTask, .ridersExpired: .ridersLost
        case .ridersKeptOnline: .ridersKeptOnline
        case .tasksReleased: .tasksReleased
        case .keysFetched, .keysNotFetched: .keysFetched
        case .eventsApplied, .eventsRepeated, .eventsSuperseded: .eventsTaken
        case .eventsEarly, .eventsNever, .eventsMalformed, .eventsForged, .eventsFailed: .eventsRefused
        case .closedGoingAway, .closedOverloaded, .closedRateLimited, .closedBadMessages, .closedTooBig,
            .closedProtocolError:
            .sessionsClosed
        }
    }

    /// The label of this sample; `nil` for a family of one.
    package var label: (name: String, value: String)? {
        switch self {
        case .connectionsRefusedByAddress: ("limit", "connections_per_address")
        case .sessionsRefusedByPerson: ("limit", "sessions_per_person")
        case .sessionsRefusedByAddress: ("limit", "sessions_per_address")
        case .sessionsRefusedByLink: ("limit", "viewers_of_link")
        case .handshakesTimedOut: ("deadline", "handshake")
        case .requestsTimedOut: ("deadline", "first_request")
        case .bodiesTimedOut: ("deadline", "body")
        case .signInsTimedOut: ("deadline", "sign_in")
        case .pongsTimedOut: ("deadline", "pong")
        case .writesStalled: ("deadline", "write")
        case .closesTimedOut: ("deadline", "close")
        case .messagesRefusedByRate: ("reason", "rate")
        case .messagesNotUnderstood: ("reason", "not_understood")
        case .positionsConflatedIn: ("direction", "in")
        case .positionsConflatedOut: ("direction", "out")
        case .requestsRefusedByRate: ("reason", "rate")
        case .tokensRefused: ("reason", "token")
        case .requestsLockedOut: ("reason", "refused_tokens_of_address")
        case .visitsRefused: ("reason", "visits_of_address")
        case .tilesRefused: ("reason", "tiles_of_address")
        case .requestsMalformed: ("reason", "malformed")
        case .originsRefused: ("reason", "origin")
        case .fixesAccepted: ("verdict", "accepted")
        case .fixesHeld: ("verdict", "held")
        case .fixesOutOfRange: ("verdict", "out_of_range")
        case .fixesZeroZero: ("verdict", "zero_zero")
        case .fixesFuture: ("verdict", "future")
        case .fixesStale: ("verdict", "stale")
        case .fixesOutOfOrder: ("verdict", "out_of_order")
        case .fixesDuplicate: ("verdict", "duplicate")
        case .fixesInaccurate: ("verdict", "inaccurate")
        case .fixesImplausible: ("verdict", "implausible_speed")
        case .fixesWithoutTravel: ("verdict", "travel_mode_off")
        case .jobsRepaired: ("purpose", "repair")
        case .jobsChecked: ("purpose", "check")
        case .zonesRepaired: ("purpose", "repair")
        case .zonesChecked: ("purpose", "check")
        case .ridersUnreachable: ("outcome", "unreachable")
        case .ridersUnreachableWithTask: ("outcome", "unreachable_with_task")
        case .ridersExpired: ("outcome", "expired")
        case .keysFetched: ("outcome", "good")
        case .keysNotFetched: ("outcome", "failed")
        case .eventsApplied: ("outcome", "applied")
        case .eventsRepeated: ("outcome", "repeated")
        case .eventsSuperseded: ("outcome", "superseded")
        case .eventsEarly: ("reason", "early")
        case .eventsNever: ("reason", "never")
        case .eventsMalformed: ("reason", "malformed")
        case .eventsForged: ("reason", "forged")
        case .eventsFailed: ("reason", "failed")
        case .closedGoingAway: ("code", "4000")
        case .closedOverloaded: ("code", "4004")
        case .closedRateLimited: ("code", "4006")
        case .closedBadMessages: ("code", "4505")
        case .closedTooBig: ("code", "1009")
        case .closedProtocolError: ("code", "1002")
        default: nil
        }
    }

    /// A name in Prometheus' form, `enroute_<noun>_<verb>_<unit|total>`, and what it says.
    package enum Family: String, CaseIterable, Sendable {
        case connectionsAccepted = "enroute_connections_accepted_total"
        case connectionsRefused = "enroute_connections_refused_total"
        case sessionsOpened = "enroute_sessions_opened_total"
        case sessionsRefused = "enroute_sessions_refused_total"
        case sessionsClosed = "enroute_sessions_closed_total"
        case sessionsShed = "enroute_sessions_shed_total"
        case sessionsAged = "enroute_sessions_aged_total"
        case deadlinesMissed = "enroute_deadlines_missed_total"
        case messagesReceived = "enroute_messages_received_total"
        case messagesRefused = "enroute_messages_refused_total"
        case messagesFailed = "enroute_messages_failed_total"
        case messagesRelayed = "enroute_messages_relayed_total"
        case messagesWaited = "enroute_messages_waited_total"
        case positionsConflated = "enroute_positions_conflated_total"
        case queuesOverflowed = "enroute_queues_overflowed_total"
        case requestsRefused = "enroute_requests_refused_total"
        case acceptPaused = "enroute_accept_paused_total"
        case jobsReread = "enroute_jobs_reread_total"
        case jobsBehind = "enroute_jobs_behind_total"
        case redisOutages = "enroute_redis_outages_total"
        case positionsKept = "enroute_positions_kept_total"
        case fixesJudged = "enroute_fixes_judged_total"
        case revocationsApplied = "enroute_revocations_applied_total"
        case sessionsRevoked = "enroute_sessions_revoked_total"
        case connectionsReset = "enroute_connections_reset_total"
        case positionsWithheld = "enroute_positions_withheld_total"
        case auditEntriesLost = "enroute_audit_entries_lost_total"
        case zonesReread = "enroute_zones_reread_total"
        case zonesBehind = "enroute_zones_behind_total"
        case ridersLost = "enroute_riders_lost_total"
        case ridersKeptOnline = "enroute_riders_kept_online_total"
        case tasksReleased = "enroute_tasks_released_total"
        case keysFetched = "enroute_keys_fetched_total"
        case eventsTaken = "enroute_events_taken_total"
        case eventsRefused = "enroute_events_refused_total"

        package var help: String {
            switch self {
            case .connectionsAccepted: "Sockets accepted."
            case .connectionsRefused: "Sockets closed at once because a limit was reached."
            case .sessionsOpened: "WebSocket sessions that signed in."
            case .sessionsRefused: "Sessions closed 4009 because a limit was reached."
            case .sessionsClosed: "Sessions closed by us, by close code."
            case .sessionsShed: "Idle sessions closed because memory passed its bound."
            case .sessionsAged: "Sessions told to reconnect because they reached their greatest age."
            case .deadlinesMissed: "Connections closed because the peer did not do something in time."
            case .messagesReceived: "Messages of clients."
            case .messagesRefused: "Messages of clients that were not acted upon."
            case .messagesFailed: "Messages of clients that failed on our side and were answered internal."
            case .messagesRelayed: "Messages from Redis offered to a follower."
            case .messagesWaited: "Messages that had to wait for a slow socket."
            case .positionsConflated: "Positions given up for a newer one of the same job."
            case .queuesOverflowed: "Sessions closed 4002 because too much waited for them."
            case .requestsRefused: "Requests refused before they were acted upon."
            case .acceptPaused: "Times that accepting was paused because of overload."
            case .jobsReread: "Followed jobs read again from Redis."
            case .jobsBehind: "Checks that found followers to have seen less than there is."
            case .redisOutages: "Times that clients were told that Redis does not answer, counted once for each loop."
            case .positionsKept:
                "Positions kept back because Redis did not answer; the newest of each job is sent later."
            case .fixesJudged: "Readings of riders by what became of them, some seconds late."
            case .revocationsApplied: "Users, tokens, jobs and links that were revoked."
            case .sessionsRevoked: "Sessions closed 4502 because what they came by was revoked."
            case .connectionsReset: "Connections thrown away because a peer did not read in time what was revoked."
            case .positionsWithheld: "Positions not shown at once because it was not known what is revoked."
            case .auditEntriesLost: "Entries of the audit trail lost because too many waited for Redis."
            case .zonesReread: "Watched zones read again from Redis."
            case .zonesBehind: "Checks that found watchers to have seen less than there is, or not yet."
            case .ridersLost: "Riders found not to be heard from any more, by this gateway; expired ones are offline."
            case .ridersKeptOnline: "Times that a rider with an active task was not let go offline (409)."
            case .tasksReleased:
                "Tasks that were released because their jobs were done or another's: left behind by a gateway that ended."
            case .eventsTaken: "Events of other systems that were answered as done."
            case .eventsRefused: "Events of other systems that were not done; early and failed ones are sent again."
            case .keysFetched: "Times that the issuer of tokens was asked for its keys; failed leaves those of before."
            }
        }
    }
}

/// What is at the moment. Summed over the loops, but for the lag, of which the largest counts.
package enum Gauge: String, CaseIterable, Sendable {
    case connections = "enroute_connections_open"
    case sessions = "enroute_sessions_open"
    case jobs = "enroute_jobs_followed"
    case loopLag = "enroute_loop_lag_seconds"
    case memory = "enroute_memory_resident_bytes"
    case descriptors = "enroute_descriptors_open"
    case shedding = "enroute_overload_shedding"

    package var help: String {
        switch self {
        case .connections: "Sockets that are open."
        case .sessions: "WebSocket sessions that are open."
        case .jobs: "Jobs that somebody follows, counted once for each event loop."
        case .loopLag: "How late the latest event loop was at its last tick."
        case .memory: "Resident memory of the process."
        case .descriptors: "Descriptors that are open, about."
        case .shedding: "1 while the gateway takes no new connections because of overload."
        }
    }
}

/// Counts of one event loop: plain numbers, summed when they are asked for. Confined to its loop; a snapshot is a value.
package struct Counts: Sendable {
    private var values = [Int](repeating: 0, count: Metric.allCases.count)

    package init() {}

    package subscript(metric: Metric) -> Int { self.values[metric.rawValue] }

    package mutating func add(_ metric: Metric, _ amount: Int = 1) { self.values[metric.rawValue] += amount }

    package mutating func add(_ other: Counts) {
        for index in self.values.indices { self.values[index] += other.values[index] }
    }
}

/// Prometheus' text format 0.0.4.
package enum Exposition {
    package static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

    package static func text(_ counts: Counts, _ gauges: [(Gauge, Double)]) -> String {
        var lines: [String] = []
        for family in Metric.Family.allCases {
            lines.append("# HELP \(family.rawValue) \(family.help)")
            lines.append("# TYPE \(family.rawValue) counter")
            for metric in Metric.allCases where metric.family == family {
                let label = metric.label.map { "{\($0.name)=\"\($0.value)\"}" } ?? ""
                lines.append("\(family.rawValue)\(label) \(counts[metric])")
            }
        }
        for (gauge, value) in gauges {
            lines.append("# HELP \(gauge.rawValue) \(gauge.help)")
            lines.append("# TYPE \(gauge.rawValue) gauge")
            lines.append("\(gauge.rawValue) \(value)")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
