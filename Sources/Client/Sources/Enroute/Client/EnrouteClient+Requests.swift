// Requests to the gateway: over the socket, where the machine matches answers to callers, and location reports over
// REST.

internal import Foundation

extension EnrouteClient {
    func request(_ message: ClientMessage) async throws(EnrouteError) -> WireOk {
        try await self.ask { $0.request(message, at: $1) }
    }

    func ask(_ send: (inout ClientMachine, Moment) -> Int?) async throws(EnrouteError) -> WireOk {
        guard let result = await self.answer(to: send) else {
            throw .unreachable("There is no connection to the gateway.")
        }
        return try result.get()
    }

    /// Sends a request and waits for its answer, until its task is cancelled; `nil` if `send` sent nothing.
    func answer(
        to send: (inout ClientMachine, Moment) -> Int?
    ) async -> Result<WireOk, EnrouteError>? {
        self.lastWait += 1
        let wait = self.lastWait
        defer { self.waits[wait] = nil }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.change { machine, moment in
                    guard let id = send(&machine, moment) else { return }
                    self.waits[wait] = id
                    self.answers[id] = continuation
                }
                if self.waits[wait] == nil { continuation.resume(returning: nil) }
                // The cancellation handler was called before there was something to cancel.
                if Task.isCancelled { self.cancel(wait) }
            }
        } onCancel: {
            Task { await self.cancel(wait) }
        }
    }

    private func cancel(_ wait: Int) {
        guard let request = self.waits[wait] else { return }
        self.change { machine, _ in machine.cancel(request) }
    }

    func report(_ fix: Fix, for jobs: [JobID], battery: Double?) {
        self.change { $0.report(fix, jobs: jobs, battery: battery, at: $1) }
    }

    func renew() {
        let (configuration, timebase) = (self.configuration, self.timebase)
        Task {
            let credential = try? await configuration.fetchCredential(timebase)
            let answer = await self.answer { $0.renew(with: credential, at: $1) }
            guard let answer, let credential else { return }
            let isAccepted = (try? answer.get()) != nil
            self.change { $0.renewed(credential, isAccepted: isAccepted, at: $1) }
        }
    }

    func post(_ report: LocationReport) {
        let (rest, device) = (self.rest, self.configuration.device)
        Task {
            let result: Result<BatchAnswer, EnrouteError>
            do throws(EnrouteError) {
                result = .success(
                    try await rest.decoded(
                        "POST", "/jobs/\(report.jobs[0].rawValue)/locations",
                        body: Data(report.body(device: device).utf8)))
            } catch {
                result = .failure(error)
            }
            self.change { $0.posted(result, sequence: report.sequence, jobs: report.jobs, at: $1) }
        }
    }
}
