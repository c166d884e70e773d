// Carries out the kit's commands with the client, and prints what its application receives.

@_spi(Conformance) import Enroute
import EnrouteNIO
import Foundation

struct NoCredential: Error, CustomStringConvertible { let description: String }

actor Driver {
    private var client: EnrouteClient?
    private var follows: [String: [Task<Void, Never>]] = [:]
    private var waiting: [Int: CheckedContinuation<Credential?, any Error>] = [:]
    private var requests = 0
    private var clock: @Sendable () -> Date = { Date() }

    /// Starts requests to the gateway; they continue after this returns.
    func perform(_ command: Command) async {
        switch command.do {
        case "start": await self.start(command)
        case "credential": self.answer(command)
        case "follow": self.follow(command)
        case "unfollow": for task in self.follows.removeValue(forKey: command.job ?? "") ?? [] { task.cancel() }
        case "report": await self.report(command)
        case "stop": await self.client?.stop()
        default: Task { await self.request(command) }
        }
    }

    private func start(_ command: Command) async {
        guard let text = command.url, let socket = URL(string: text), let speed = command.speed, let now = command.now,
            var parts = URLComponents(url: socket, resolvingAgainstBaseURL: false)
        else { return }
        (parts.scheme, parts.path) = (parts.scheme == "wss" ? "https" : "http", "")
        guard let gateway = parts.url else { return }
        let start = ContinuousClock.now
        let clock: @Sendable () -> Date = {
            Date(timeIntervalSince1970: (now + start.duration(to: .now) / .milliseconds(1) * speed) / 1000)
        }
        let client = EnrouteClient(
            .init(gateway: gateway, transport: NIOTransport()) { try await self.ask() }, speed: speed, wall: clock())
        (self.clock, self.client) = (clock, client)
        Task {
            for await state in client.connectionStates {
                switch state {
                case .stopped: say("stopped")
                case .connecting: say("connecting")
                case .open(let isDegraded, _): say(isDegraded ? "degraded" : "open")
                case .waiting(_, let close): say("waiting", close)
                case .refused(let close): say("refused", close)
                case .background: say("background")
                }
            }
        }
        await client.start()
    }

    /// The application's credential, which the kit provides.
    private func ask() async throws -> Credential? {
        self.requests += 1
        let request = self.requests
        return try await withCheckedThrowingContinuation {
            self.waiting[request] = $0
            say("credential", ["request": request])
        }
    }

    private func answer(_ command: Command) {
        guard let waiting = self.waiting.removeValue(forKey: command.request ?? 0) else { return }
        if let token = command.token {
            waiting.resume(returning: .token(token))
        } else if let link = command.link {
            waiting.resume(returning: .trackingLink(link))
        } else {
            waiting.resume(throwing: NoCredential(description: command.fails ?? "no credential"))
        }
    }

    private func follow(_ command: Command) {
        guard let client, let job = command.job.flatMap({ JobID($0) }) else { return }
        let views = Task {
            do {
                for try await view in client.job(job) { say(view) }
            } catch let error as EnrouteError {
                say("error", ["job": job.rawValue, "code": error.code.rawValue])
            } catch {}
        }
        let events = Task {
            do {
                for try await event in client.statusEvents(of: job, after: command.after) { say(event, of: job) }
            } catch {
                // Ignored here, because the views report it.
            }
        }
        self.follows[job.rawValue] = [views, events]
    }

    private func report(_ command: Command) async {
        guard let fix = command.fix else { return }
        let place = Place(latitude: fix.lat, longitude: fix.lon)
        await self.client?.rider.report(
            Fix(place: place, measuredAt: self.clock(), accuracy: fix.acc),
            for: (command.jobs ?? []).compactMap { JobID($0) }, battery: command.battery)
    }

    private func request(_ command: Command) async {
        guard let rider = self.client?.rider else { return }
        let job = command.job.flatMap { JobID($0) }
        do throws(EnrouteError) {
            switch (command.do, job) {
            case ("travel", let job?) where command.active == true: try await rider.startTravel(job)
            case ("travel", let job?): try await rider.stopTravel(job)
            case ("unavailable", _):
                let reason = UnavailableReason(rawValue: command.reason ?? "") ?? .unknown
                try await rider.reportUnavailable(reason, for: job)
            case ("availability", _):
                try await rider.setAvailability(command.status == "online" ? .online : .offline, device: command.device)
            default: fatalError("unknown command: \(command.do)")
            }
            say("answer", ["request": command.request, "ok": true])
        } catch {
            say("answer", ["request": command.request, "ok": false, "code": error.code.rawValue])
        }
    }
}
