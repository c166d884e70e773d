// Directions to the vendor or the destination in the rider's own navigation app (RDR-014): URLs for several apps, made from the
// job's stored coordinates without a request to a map provider. Without reliable coordinates there are no directions.

internal import Access
internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import Jobs
internal import LiveState
internal import NIOCore

extension Routes {
    func addNavigation(to api: RouterGroup<GatewayRequestContext>) {
        api.get("jobs/{job}/navigation", use: self.navigate)
    }

    private enum Stop: String, CaseIterable {
        case vendor, destination
    }

    private struct NavigationDocument: Encodable {
        struct Candidate: Encodable {
            var app: String
            var label: String
            var ios: String?
            var android: String?
            var web: String?
        }

        var job: String
        var to: String
        var name: String?
        /// Degrees with six decimals, as strings that equal those in the URLs.
        var lat: String
        var lon: String
        var candidates: [Candidate]
    }

    @Sendable private func navigate(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .navigate)
        let job: JobID = try Self.identifier(context.parameters.require("job"), "job")
        let stop: Stop = try Self.choice("to", request) ?? .destination
        let platform =
            try Self.choice("platform", request)
            ?? NavigationPlatform(userAgent: request.headers[.userAgent] ?? "")
        guard let record = try await self.result(of: self.jobs.ledger.recover(job))?.record,
            grant.reaches(job, customer: record.customer, rider: record.rider),
            !self.revocations.hides(job, from: grant.role)
        else { throw Problem(Refused.noSuchJob) }
        guard record.status.end == nil else {
            throw Problem(
                Refused(
                    code: .illegalTransition,
                    message: "The job is \(record.status.rawValue) and no longer has a destination.",
                    status: record.status))
        }
        guard let coordinate = stop == .vendor ? record.vendor?.place : record.destination else {
            let geocoded = stop == .vendor ? record.vendor?.geocoded : record.geocoded
            if geocoded?.isUnanswered == true { throw Problem.addressNotLookedUp }
            throw Problem(unresolvable: stop == .vendor ? "vendor address" : "address")
        }
        let place = DecimalCoordinate(coordinate)
        let mode = NavigationMode(try await self.result(of: self.jobs.vehicle(for: record)))
        let candidates = platform.apps.compactMap { app -> NavigationDocument.Candidate? in
            let url = { (platform: NavigationPlatform) in app.url(to: place, by: mode, on: platform) }
            guard url(platform) != nil else { return nil }
            return NavigationDocument.Candidate(
                app: app.rawValue, label: app.label, ios: url(.ios), android: url(.android), web: url(.web))
        }
        var response = try Self.json(
            NavigationDocument(
                job: job.text, to: stop.rawValue, name: stop == .vendor ? record.vendor?.name : nil,
                lat: place.latitude, lon: place.longitude, candidates: candidates))
        response.headers[.vary] = "User-Agent"
        return response
    }

    /// Parses a query parameter with a fixed set of values; `nil` if it is absent.
    private static func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String, _ request: Request
    ) throws -> Choice? where Choice.RawValue == String {
        guard let text = request.uri.queryParameters[Substring(name)] else { return nil }
        guard let choice = Choice(rawValue: String(text)) else {
            throw Self.badRequest("\(name) must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        return choice
    }
}

extension Problem {
    /// The address may be correct, but the provider did not respond when it was looked up.
    fileprivate static var addressNotLookedUp: Problem {
        var problem = Problem(
            .unavailable, status: 503,
            detail: "Could not get directions: the address has not been looked up yet, because the map service does "
                + "not answer. The lookup is repeated; try again later.")
        problem.retryIn = 60_000
        return problem
    }

    /// A rider must not be sent to a place that may be wrong (RDR-014 AC-005).
    fileprivate init(unresolvable what: String) {
        self.init(
            .destinationUnresolvable, status: 422,
            detail: "Could not get directions. The \(what) may be incorrect.")
    }
}
