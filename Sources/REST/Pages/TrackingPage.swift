// Serves the customer's page. If the request contains credentials, the page includes the job's state, so it is useful
// before its script has run and a WebSocket is open. Without credentials, as when a link is opened in a browser, it is
// an empty shell that needs no Redis. The shell then requests the page again with the secret in its URL fragment, which
// browsers never send to a server.

internal import Access
internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import Jobs
internal import LiveState
internal import NIOCore
internal import TrafficControl
internal import WebAssets

extension Routes {
    func addTrackingPage(_ pages: Pages, to router: Router<GatewayRequestContext>) {
        router.get("track/{job}") { request, context in
            guard request.headers[.authorization] != nil else { return pages.shell("track", request) }
            do {
                return try pages.tracking(try await self.initialView(request, context), request)
            } catch let error as any HTTPResponseError {
                let problem = error as? Problem ?? Problem(error.status)
                // A request for a page gets an error page, regardless of its Accept header.
                guard let page = pages.notice(problem.forPage, request, context) else { throw error }
                return page
            }
        }
    }

    private func initialView(
        _ request: Request, _ context: GatewayRequestContext
    ) async throws -> InitialView {
        guard Self.link(of: request) != nil else {
            let grant = try self.grant(request, context, .readJob)
            let job: JobID = try Self.identifier(context.parameters.require("job"), "job")
            let view = try await self.view(job, grant)
            let facts = try await self.facts(job, view, grant)
            if request.method != .head { self.recordRead(of: view, job, by: grant, via: "page") }
            return InitialView(job: job, view: view, facts: facts, isByLink: false)
        }
        let grant = try await self.linkGrant(request, context)
        let job: JobID = try Self.identifier(context.parameters.require("job"), "job")
        let view = try await self.view(job, grant)
        let facts = try await self.facts(job, view, grant)
        // After the job has ended, its link opens no session. Until the link expires, the page shows how the job ended.
        guard view.record.status.end == nil else {
            return InitialView(job: job, view: view.outcome, facts: facts, isByLink: true)
        }
        // Without the position and the rider's card, because only sessions count against the link's maximum number of
        // viewers. The page opens a session a moment later.
        return InitialView(job: job, view: view.withoutPosition.withoutRider, facts: facts, isByLink: true)
    }

    private func facts(_ job: JobID, _ view: JobView, _ grant: Grant) async throws -> PageFacts {
        let record = view.record
        let log = try await self.result(of: self.jobs.ledger.log(of: job))
        return PageFacts(
            // If a status was left and reached again, the last time counts. Late entries are about the past.
            times: log.reduce(into: [:]) { if !$1.isLate { $0[$1.status.rawValue] = $1.at } },
            shop: record.status.end == nil
                ? record.vendor?.place.map { .init(lat: $0.latitude, lon: $0.longitude) } : nil,
            rider: try await self.result(of: self.jobs.nameOfRider(after: record)),
            can: self.actions(view, grant))
    }

    /// What this customer may do on the page; `nil` for nothing.
    private func actions(_ view: JobView, _ grant: Grant) -> PageFacts.Actions? {
        let record = view.record
        guard grant.role == .customer, record.status.end == nil else { return nil }
        let (settings, isByLink) = (self.shared.pages.settings, grant.link != nil)
        let canNote = settings.customerNotes.isOffered(byLink: isByLink) && grant.allows(.writeNote)
        let canCancel = settings.customerCancelling.isOffered(byLink: isByLink) && grant.allows(.changeStatus)
        guard canNote || canCancel else { return nil }
        let statuses = JobStatus.cancelled.origins(causedBy: grant.party).filter { record.kind.statuses.contains($0) }
        return PageFacts.Actions(
            note: canNote ? record.customerNote?.text ?? "" : nil,
            cancelFrom: canCancel ? statuses.map(\.rawValue) : nil,
            tag: canNote ? EntityTag(view.withoutPosition.withoutRider).description : nil)
    }
}

/// What the page shows in addition to the snapshot.
private struct PageFacts: Encodable {
    struct Place: Encodable {
        var lat, lon: Double
    }

    /// When each status started, ms since the epoch.
    var times: [String: Int64]
    /// The place that the order comes from, until the job ends.
    var shop: Place?
    /// The rider's name once the job has ended, even for a link viewer.
    var rider: String?
    /// What the customer may do.
    var can: Actions?

    struct Actions: Encodable {
        /// The customer's note to the rider; empty if there is none, `nil` if the customer may not write one.
        var note: String?
        /// The statuses in which the customer may cancel; `nil` if the page does not offer it.
        var cancelFrom: [String]?
        /// The entity tag of the job with this note, for `If-Match`: the page must not replace a note that it has not
        /// shown.
        var tag: String?
    }
}

/// The state of a job that the page shows before its session is open.
private struct InitialView {
    var job: JobID
    var view: JobView
    var facts: PageFacts
    /// Whether the client used a tracking link. The view contains no position then.
    var isByLink: Bool
}

extension Problem {
    /// An invalid ID, or a job that the user may not see, is presented as a job that does not exist.
    fileprivate var forPage: Problem {
        [400, 403].contains(self.statusCode) ? Problem(Refused.noSuchJob) : self
    }
}

extension Pages {
    /// Returns the customer's page with the current state of a job.
    fileprivate func tracking(_ first: InitialView, _ request: Request) throws -> Response {
        guard let file = self.files["track.html"] else { preconditionFailure("track.html is built in") }
        let (texts, snapshot) = (self.language(request), first.view.snapshot)
        var page = self.template(file, "track", texts.language, request)
        page.fill("headline", with: texts[snapshot.status].long.escaped)
        page.fill("detail", with: Self.detail(snapshot, texts, isByLink: first.isByLink).escaped)
        page.fill("steps", with: Self.steps(snapshot, texts))
        page.add(json: snapshot.json(job: first.job), as: "first")
        page.add(json: try JSONDocument.bytes(first.facts), as: "more")
        var response = Self.response(page.bytes, file.contentType, caching: "no-store")
        response.headers[.contentLanguage] = texts.language
        return response
    }

    /// Returns the text below the headline: the next step, or why the rider's location is not shown.
    private static func detail(_ snapshot: Snapshot, _ texts: StatusTexts, isByLink: Bool) -> String {
        let isUnderway = [.onTheWay, .inTransit].contains(snapshot.status)
        let isUnseen = isByLink && snapshot.tracking == .waiting
        guard isUnderway, !isUnseen, snapshot.tracking != .live, let tracking = try? TrackingTexts(json: texts.json)
        else {
            return texts[snapshot.status].next
        }
        return tracking[snapshot.unavailable ?? snapshot.tracking.text(snapshot.reason)].sentence(for: snapshot.kind)
    }

    /// Returns the items of the list of steps. `aria-current` marks the current step for screen readers.
    private static func steps(_ snapshot: Snapshot, _ texts: StatusTexts) -> String {
        snapshot.steps.map { step in
            let current = step.state == .active ? #" aria-current="step""# : ""
            return #"<li data-step="\#(step.status.rawValue)" data-state="\#(step.state.rawValue)"\#(current)>"#
                + texts[step.status].short.escaped + "</li>"
        }.joined()
    }
}
