// The customer's page with the job's state in it, for who shows on the first request whose it is: useful before any script has
// run or a socket is open. Without that it is the shell alone, which needs no Redis; the page then asks again with what stands
// behind its #, which no server is sent.

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
                return pages.tracking(try await self.firstView(request, context), request)
            } catch let error as any HTTPResponseError {
                let problem = error as? Problem ?? Problem(error.status)
                // Whoever asks for a page is answered with one.
                guard let page = pages.notice(problem.seenByPeople, request, context) else { throw error }
                return page
            }
        }
    }

    private func firstView(
        _ request: Request, _ context: GatewayRequestContext
    ) async throws -> FirstView {
        let words = request.headers[.authorization]?.split(separator: " ") ?? []
        guard words.count == 2, words[0].lowercased() == "link" else {
            let grant = try self.grant(request, context, .readJob)
            let job: JobID = try Self.identifier(context.parameters.require("job"), "job")
            return FirstView(job: job, view: try await self.view(job, grant), isByLink: false)
        }
        let address = try self.visitor(request, context)
        let job: JobID = try Self.identifier(context.parameters.require("job"), "job")
        guard let id = TrackingLinks.id(of: String(words[1])),
            let link = try await self.answer(self.links.read(id)), link.job == job
        else {
            self.quotas.recordInvalidToken(of: address, at: NIODeadline.now().uptimeNanoseconds)
            throw Problem(Refused.noSuchJob)
        }
        let grant = Grant(person: link.customer, role: .customer, job: job, link: id)
        guard !self.revocations.isRevoked(grant) else { throw Problem(Refused.noSuchJob) }
        let view = try await self.view(job, grant)
        // A link ends with its job, as it does for sessions.
        guard view.record.status.end == nil else { throw Problem(Refused.noSuchJob) }
        // Where the rider is, is shown to so many at once as the link was made for, and written down: to sessions. One is
        // open a moment later.
        return FirstView(job: job, view: view.withoutPosition, isByLink: true)
    }
}

/// What is shown before a session is open.
private struct FirstView {
    var job: JobID
    var view: JobView
    /// Without the position, whether or not there is one.
    var isByLink: Bool
}

extension Problem {
    /// A bad name, and what may not be seen, are for people the same as what is not there.
    fileprivate var seenByPeople: Problem {
        [400, 403].contains(self.statusCode) ? Problem(Refused.noSuchJob) : self
    }
}

extension Pages {
    /// The page of a job as it is now.
    fileprivate func tracking(_ first: FirstView, _ request: Request) -> Response {
        guard let file = self.files["track.html"] else { preconditionFailure("track.html is built in") }
        let (texts, snapshot) = (self.language(request), first.view.snapshot)
        var page = self.template(file, "track", texts.language)
        page.fill("headline", with: texts[snapshot.status].long.escaped)
        page.fill("detail", with: Self.detail(snapshot, texts, isByLink: first.isByLink).escaped)
        page.fill("steps", with: Self.steps(snapshot, texts))
        page.add(json: snapshot.json(job: first.job), as: "first")
        var response = Self.answer(page.bytes, file.contentType, caching: "no-store")
        response.headers[.contentLanguage] = texts.language
        return response
    }

    /// What comes next; on the way, what can be seen of the rider.
    private static func detail(_ snapshot: Snapshot, _ texts: StatusTexts, isByLink: Bool) -> String {
        let isUnderway = [.onTheWay, .inTransit].contains(snapshot.status)
        let isUnseen = isByLink && snapshot.tracking == .waiting
        guard isUnderway, !isUnseen, snapshot.tracking != .live, let tracking = try? TrackingTexts(json: texts.json)
        else {
            return texts[snapshot.status].next
        }
        return tracking[snapshot.unavailable ?? snapshot.tracking.text(snapshot.reason)].sentence(for: snapshot.kind)
    }

    /// The items of an ordered list, one a step; which is the current one is said to screen readers too.
    private static func steps(_ snapshot: Snapshot, _ texts: StatusTexts) -> String {
        snapshot.steps.map { step in
            let current = step.state == .active ? #" aria-current="step""# : ""
            return #"<li data-step="\#(step.status.rawValue)" data-state="\#(step.state.rawValue)"\#(current)>"#
                + texts[step.status].short.escaped + "</li>"
        }.joined()
    }
}
