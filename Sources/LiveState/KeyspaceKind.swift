// The kind of a key or channel, derived from its name. Metrics and logs use the kind, because the name itself contains an id.
// This is the inverse of Keyspace.swift, in a separate file so that a test can compare the two.

/// Kinds of keys and channels.
extension Keyspace {
    package enum Kind: String, CaseIterable, Sendable {
        case job, log, travel, position, eta, etaLease = "eta_lease", stopsBefore = "stops_before", etaBudget =
            "eta_budget", verdicts, push
        case feed, events
        case ticket, signIn = "sign_in", link, viewers
        case rider, tasks, request, idempotency, home, moving, zones
        case available, due, taskOwners = "task_owners", changeLog = "change_log", changes, places
        case placesSeen = "places_seen"
        case jobs, zonesOfJobs = "zones_of_jobs", jobLinks = "job_links"
        case riderJobs = "rider_jobs", customerJobs = "customer_jobs"
        case gateways, gateway, followed, ridersConnected = "riders_connected"
        case stream, control
        case eventStream = "event_stream", outbox, webhooks, webhook
        /// Not one of Enroute's names.
        case other
    }

    package func kind(of name: String) -> Kind {
        guard name.hasPrefix(self.prefix) else { return .other }
        let name = name.dropFirst(self.prefix.count)
        if let kind = Self.whole[name] { return kind }
        guard let colon = name.firstIndex(of: ":") else { return .other }
        let (head, rest) = (name[..<colon], name[name.index(after: colon)...])
        // What follows the hash tag, if there is one.
        let tail = rest.firstIndex(of: "}").map { rest[rest.index(after: $0)...] } ?? ""
        return switch head {
        case "job": Self.ofJob[tail] ?? .other
        case "riders": Self.ofZone[tail] ?? .other
        case "rider": tail.hasSuffix(":tasks") && tail.split(separator: ":").count == 2 ? .tasks : .rider
        case "link": tail == ":viewers" ? .viewers : .link
        case "gateway": tail == ":followed" ? .followed : tail == ":riders" ? .ridersConnected : .gateway
        case "zone": .jobs
        case "jobs": Self.ofPerson[rest.prefix { $0 != ":" }] ?? .other
        case "request": .request
        case "idempotency": .idempotency
        case "home": .home
        case "moving": .moving
        case "ticket": .ticket
        case "signin": .signIn
        case "budget": .etaBudget
        case "events": .eventStream
        case "outbox": .outbox
        case "webhook": .webhook
        default: .other
        }
    }

    private static let whole: [Substring: Kind] = [
        "zones": .zones, "webhooks": .webhooks, "zones:jobs": .zonesOfJobs, "gateways": .gateways, "control": .control,
        "access": .stream,
        "audit": .stream,
    ]
    private static let ofJob: [Substring: Kind] = [
        "": .job, ":log": .log, ":travel": .travel, ":position": .position, ":eta": .eta, ":eta:lease": .etaLease,
        ":before": .stopsBefore, ":links": .jobLinks, ":verdicts": .verdicts, ":push": .push, ":feed": .feed,
        ":events": .events,
    ]
    private static let ofPerson: [Substring: Kind] = ["rider": .riderJobs, "customer": .customerJobs]
    private static let ofZone: [Substring: Kind] = [
        ":available": .available, ":due": .due, ":tasks": .taskOwners, ":audit": .changeLog, ":changes": .changes,
        ":geo": .places, ":seen": .placesSeen,
    ]
}
