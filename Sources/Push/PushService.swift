// Notifies the browsers that wait for a rider when it is about two minutes away. Several gateways may notice that. Only
// the one that takes the subscriptions from Redis sends the messages, so each browser receives one.

package import Access
package import EnrouteWire
package import LiveState
package import Logging
internal import NIOCore
internal import FoundationEssentials
package import Telemetry

/// The messages of one gateway. Thread-safe.
package final class PushService: Sendable {
    private struct Near: Sendable {
        var job: JobID
        var rider: PersonID
        var seconds: Double
    }

    /// Checks that other parts of the gateway provide.
    package struct Checks: Sendable {
        /// Whether the rider makes other stops before this job.
        let hasStopsBefore: @Sendable (JobID, PersonID) async throws -> Bool
        /// The customer of an open job with this rider; `nil` if it has ended or has another rider, or if revocations
        /// may be missing.
        let customer: @Sendable (JobID, PersonID) async throws -> PersonID?
        /// Whether this grant still gives access to the job of this customer.
        let mayFollow: @Sendable (Grant, JobID, PersonID) async throws -> Bool

        package init(
            hasStopsBefore: @escaping @Sendable (JobID, PersonID) async throws -> Bool,
            customer: @escaping @Sendable (JobID, PersonID) async throws -> PersonID?,
            mayFollow: @escaping @Sendable (Grant, JobID, PersonID) async throws -> Bool
        ) {
            (self.hasStopsBefore, self.customer, self.mayFollow) = (hasStopsBefore, customer, mayFollow)
        }
    }

    private let settings: PushSettings
    private let subscriptions: PushSubscriptions
    private let checks: Checks
    private let counts: SharedCounts
    private let logger: Logger
    private let near: AsyncStream<Near>
    private let reports: AsyncStream<Near>.Continuation
    private let unreachable = UnreachableServices()

    /// Maximum number of unprocessed reports. Beyond it, the oldest is dropped; its rider is reported again 15 s later.
    private static let mostWaiting = 1_000
    /// Maximum number of jobs whose browsers are notified at the same time.
    private static let mostAtOnce = 16

    package init(
        settings: PushSettings, subscriptions: PushSubscriptions, counts: SharedCounts, checks: Checks, logger: Logger
    ) {
        (self.settings, self.subscriptions, self.counts) = (settings, subscriptions, counts)
        (self.checks, self.logger) = (checks, logger)
        (self.near, self.reports) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(Self.mostWaiting))
    }

    /// Reports that the rider of a job is near, `seconds` away. Returns immediately.
    package func report(_ job: JobID, _ rider: PersonID, _ seconds: Double) {
        self.reports.yield(Near(job: job, rider: rider, seconds: seconds))
    }

    /// Runs until the task is cancelled.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            for await near in self.near {
                if running >= Self.mostAtOnce {
                    await group.next()
                    running -= 1
                }
                group.addTask { await self.notify(near) }
                running += 1
            }
            group.cancelAll()
        }
    }

    private func notify(_ near: Near) async {
        do {
            guard try await self.subscriptions.exist(for: near.job).get(),
                try await !self.checks.hasStopsBefore(near.job, near.rider),
                let customer = try await self.checks.customer(near.job, near.rider)
            else { return }
            // Access is checked before anything is taken, because only browsers that still wait are notified at the
            // rider's next report.
            let access = try await self.access(to: near.job, of: customer)
            let taken = try await self.subscriptions.take(from: near.job).get()
            await self.notify(taken, access, near, customer)
        } catch {
            // Either no subscription was taken, or Redis' reply was lost. In the first case the rider is reported
            // again.
            self.logger.debug(
                "browsers not notified", metadata: [LogKey.job: "\(near.job)", LogKey.reason: "\(error)"])
        }
    }

    /// Which of the job's browsers may be notified.
    private func access(
        to job: JobID, of customer: PersonID
    ) async throws -> [PushSubscriptions.Waiting: Bool] {
        var access: [PushSubscriptions.Waiting: Bool] = [:]
        for browser in try await self.subscriptions.read(of: job).get().compactMap(\.waiting) {
            access[browser] = try await self.mayFollow(browser, job, customer)
        }
        return access
    }

    private func mayFollow(
        _ browser: PushSubscriptions.Waiting, _ job: JobID, _ customer: PersonID
    ) async throws -> Bool {
        guard let grant = browser.grant(for: job) else { return false }
        return try await self.checks.mayFollow(grant, job, customer)
    }

    private func notify(
        _ taken: [PushSubscriptions.Waiting], _ access: [PushSubscriptions.Waiting: Bool], _ near: Near,
        _ customer: PersonID
    ) async {
        let message = Array(
            #"{"type":"near","job":"\#(near.job)","seconds":\#(Int64(near.seconds.rounded()))}"#.utf8)
        let now = Int64(Date.now.timeIntervalSince1970 * 1000)
        await withTaskGroup(of: Void.self) { group in
            for browser in taken {
                group.addTask {
                    // A browser that was added after the check is checked now.
                    var mayFollow = access[browser]
                    if mayFollow == nil { mayFollow = try? await self.mayFollow(browser, near.job, customer) }
                    guard browser.waits(at: now), mayFollow == true else { return self.counts.add(.pushesRefused) }
                    await self.send(message, to: browser.subscription, near.job)
                }
            }
        }
    }

    private func send(_ message: [UInt8], to subscription: PushSubscriptions.Subscription, _ job: JobID) async {
        guard
            let address = try? PushAddress(
                endpoint: subscription.endpoint, p256dh: subscription.keys.p256dh, auth: subscription.keys.auth)
        else { return self.counts.add(.pushesFailed) }
        guard self.unreachable.admits(address.origin) else {
            return self.failed(job, "the push service could not be reached a moment ago")
        }
        let sender = PushSender(settings: self.settings)
        for pause in self.settings.pauses.map(Optional.some) + [nil] {
            let result = await sender.send(message, to: address, now: Int64(Date.now.timeIntervalSince1970))
            if !result.isUnreachable { self.unreachable.remove(address.origin) }
            let reason: String
            switch result {
            case .sent: return self.counts.add(.pushesSent)
            case .gone: return self.counts.add(.pushesGone)
            case .failed(let text, mayPass: false): return self.failed(job, text)
            case .failed(let text, mayPass: true), .unreachable(let text): reason = text
            }
            if let pause, (try? await Task.sleep(for: pause)) != nil { continue }
            if result.isUnreachable { self.unreachable.add(address.origin) }
            return self.failed(job, reason)
        }
    }

    private func failed(_ job: JobID, _ reason: String) {
        self.counts.add(.pushesFailed)
        self.logger.warning(
            "a browser was not notified", metadata: [LogKey.job: "\(job)", LogKey.reason: "\(reason)"])
    }
}
