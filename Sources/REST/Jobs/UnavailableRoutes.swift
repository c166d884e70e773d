// Lets a phone in the background report why its location is unavailable, like the message `unavailable` of a WebSocket. This is
// a separate route, because a location batch must contain a fix.

internal import Access
internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import Jobs
internal import LiveState
internal import NIOCore
internal import Realtime
internal import Tracking

extension Routes {
    func addUnavailable(to api: RouterGroup<GatewayRequestContext>) {
        api.put("jobs/{job}/unavailable", use: self.reportUnavailable)
    }

    private struct UnavailableBody: Decodable {
        var reason: String
        var device: String?
    }

    @Sendable private func reportUnavailable(
        _ request: Request, _ context: GatewayRequestContext
    ) async throws -> Response {
        let grant = try self.grant(request, context, .reportLocation)
        let job = try self.job(context, grant)
        let body = try await self.body(UnavailableBody.self, request, context)
        guard let reason = UnavailableReason(rawValue: body.reason) else {
            let reasons = UnavailableReason.allCases.map(\.rawValue).joined(separator: ", ")
            throw Self.unprocessable("reason must be one of \(reasons).")
        }
        let device: DeviceID? = try body.device.map { try Self.name($0, "device") }
        guard let record = try await self.result(of: self.jobs.ledger.recover(job))?.record,
            grant.reaches(job, customer: record.customer, rider: record.rider),
            !self.revocations.hides(job, from: grant.role)
        else { throw Problem(Refused.noSuchJob) }
        guard record.isTravelling else { throw Problem(Refused.travelModeOff) }
        if let device, let current = record.reporter, current != Reporter(device) { throw Problem(Refused.otherDevice) }
        // A reason reveals no location, so a device without a name may report it on behalf of the named device.
        let reporter = device.map { Reporter($0) } ?? record.namedReporter ?? .requests
        // If the reason could not be recorded, the response is an error, so that the phone reports it again.
        let refused = try await self.result(
            of: self.loops.onHomeLoop(of: grant.person) { loop in
                loop.restReporters.reported(reason, for: job, of: grant.person, on: reporter)
            })
        if let refused { throw Problem(refused) }
        return Response(status: .noContent, headers: [.cacheControl: "no-store"])
    }
}

extension JobRecord {
    /// The reporting device, if it has a name that lasts across connections.
    fileprivate var namedReporter: Reporter? { self.reporter.flatMap { $0.isNameless ? nil : $0 } }
}
