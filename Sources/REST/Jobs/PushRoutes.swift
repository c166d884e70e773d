// Stores which browsers are notified when the rider of a job is near.

internal import Access
internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import Jobs
internal import LiveState
internal import Push
internal import Realtime

extension Routes {
    func addPush(to api: RouterGroup<GatewayRequestContext>) {
        api.put("jobs/{job}/push", use: self.notifyBrowser)
    }

    /// Maximum number of attempts to add a browser while others change the job.
    private static let maxPushAttempts = 3

    private struct PushBody: Decodable {
        var subscription: PushSubscriptions.Subscription
        /// Whether to notify this browser when the rider is near; `nil` means yes.
        var near: Bool?
    }

    private struct PushDocument: Encodable {
        var job: String
        var near: Bool
    }

    @Sendable private func notifyBrowser(_ request: Request, _ context: GatewayRequestContext) async throws -> Response
    {
        let grant = try await self.grant(request, context, .followJob, orOfLinkFor: .links)
        guard self.shared.pages.settings.pushKey != nil else {
            throw Problem(.notFound, status: 404, detail: "This gateway has no key for push messages.")
        }
        guard grant.role == .customer else {
            throw Problem(Refused(code: .forbidden, message: "Only a job's customer is notified by push messages."))
        }
        let job = try self.job(context, grant)
        let body = try await self.body(PushBody.self, request, context)
        let subscription = body.subscription
        do throws(PushAddress.Invalid) {
            _ = try PushAddress(
                endpoint: subscription.endpoint, p256dh: subscription.keys.p256dh, auth: subscription.keys.auth)
        } catch {
            throw Self.unprocessable("subscription: \(error)")
        }
        guard body.near ?? true else {
            try await self.remove(subscription.endpoint, from: job, grant)
            return try Self.json(PushDocument(job: job.text, near: false))
        }
        let end = WallClock.nowMilliseconds + self.services.push.lifetime.milliseconds
        try await self.add(.init(subscription, by: grant, until: end), to: job, grant)
        return try Self.json(PushDocument(job: job.text, near: true))
    }

    /// Removes a browser. People may remove their own one after they have lost access to the job.
    ///
    /// - Throws: 404 if it is another person's, and the caller has no access to the job.
    private func remove(_ endpoint: String, from job: JobID, _ grant: Grant) async throws {
        let stored = try await self.result(of: self.services.push.read(of: job)).compactMap(\.waiting)
        guard let browser = stored.first(where: { $0.subscription.endpoint == endpoint }) else { return }
        if !browser.belongs(to: grant.person) { _ = try await self.view(job, grant) }
        try await self.result(of: self.services.push.remove(endpoint: endpoint, from: job))
    }

    /// Stores a browser, unless the job ends, is erased or gets another customer meanwhile.
    private func add(
        _ waiting: PushSubscriptions.Waiting, to job: JobID, _ grant: Grant, attempt: Int = 1
    ) async throws {
        let record = try await self.view(job, grant).record
        guard record.status.end == nil else {
            throw Problem(
                Refused(
                    code: .illegalTransition, message: "The job is \(record.status.rawValue); no rider will come.",
                    status: record.status))
        }
        switch try await self.add(waiting, to: job, record) {
        case .added: return
        case .full:
            throw Problem(
                Refused(
                    code: .limitExceeded,
                    message: "At most \(PushSubscriptions.most) browsers are notified of a job, and at most "
                        + "\(PushSubscriptions.mostByLink) of them for viewers of tracking links."))
        case .overtaken where attempt < Self.maxPushAttempts:
            try await self.add(waiting, to: job, grant, attempt: attempt + 1)
        case .overtaken: throw Problem(Refused.changedConcurrently)
        }
    }

    /// Adds a browser. If the places are occupied, browsers that have lost access release theirs: nobody else can remove
    /// them.
    private func add(
        _ waiting: PushSubscriptions.Waiting, to job: JobID, _ record: JobRecord
    ) async throws -> PushSubscriptions.Addition {
        let (push, fence) = (self.services.push, record.fence)
        let result = try await self.result(of: push.add(waiting, to: job, asOf: fence))
        guard result == .full else { return result }
        let outdated = try await self.browsersWithoutAccess(to: job, of: record.customer)
        guard !outdated.isEmpty else { return .full }
        return try await self.result(of: push.add(waiting, to: job, asOf: fence, removing: outdated))
    }

    private func browsersWithoutAccess(
        to job: JobID, of customer: PersonID
    ) async throws -> [PushSubscriptions.Stored] {
        var outdated: [PushSubscriptions.Stored] = []
        for browser in try await self.result(of: self.services.push.read(of: job)) {
            guard let waiting = browser.waiting, waiting.waits(at: WallClock.nowMilliseconds),
                let grant = waiting.grant(for: job), try await self.mayFollow(grant, job, of: customer)
            else {
                outdated.append(browser)
                continue
            }
        }
        return outdated
    }

    private func mayFollow(_ grant: Grant, _ job: JobID, of customer: PersonID) async throws -> Bool {
        do {
            return try await self.services.mayFollow(grant, job, of: customer, self.revocations)
        } catch {
            throw Problem(Refused(error))
        }
    }
}
