// Sends one message to one browser through its push service (RFC 8030).

internal import OutboundHTTP
internal import Webhooks

/// Sends encrypted messages. A value.
struct PushSender: Sendable {
    /// The result of one attempt.
    enum Result: Sendable, Hashable {
        case sent
        /// The subscription no longer exists.
        case gone
        /// - Parameters:
        ///   - reason: for people, without an address.
        ///   - mayPass: whether another attempt may succeed.
        case failed(reason: String, mayPass: Bool)
        /// The push service did not respond. Another attempt may succeed.
        case unreachable(reason: String)

        var isUnreachable: Bool { if case .unreachable = self { true } else { false } }
    }

    let settings: PushSettings

    /// - Parameter now: seconds since the epoch.
    func send(_ message: [UInt8], to address: PushAddress, now: Int64) async -> Result {
        let request: OutboundRequest
        let http: OutboundHTTP
        do {
            request = OutboundRequest(
                method: .post, url: address.endpoint,
                headers: [
                    "content-encoding": "aes128gcm", "content-type": "application/octet-stream",
                    "ttl": "\(PushSettings.messageLifetimeSeconds)", "urgency": "high",
                    "authorization": try self.settings.key.authorization(for: address.origin, now: now),
                ], body: try address.encrypted(message))
            let addresses = try await self.settings.resolver.addresses(
                of: address.url.host, within: PushSettings.longestAttempt)
            http = self.settings.http.pinned(address.url.host, to: addresses.map(\.description), connections: 1)
        } catch let failure as HostResolver.Failure {
            if case .refused = failure { return .failed(reason: "\(failure)", mayPass: false) }
            return .unreachable(reason: "\(failure)")
        } catch {
            return .failed(reason: "\(error)", mayPass: false)
        }
        do throws(OutboundFailure) {
            return Self.result(status: try await http.status(of: request))
        } catch {
            switch error {
            case .tooLong(let status): return Self.result(status: status)
            case .late: return .unreachable(reason: "no response in time")
            case .unreachable(_, let reason): return .unreachable(reason: reason)
            case .cancelled: return .failed(reason: "the gateway stopped", mayPass: false)
            }
        }
    }

    private static func result(status: Int) -> Result {
        switch status {
        case 200..<300: .sent
        case 404, 410: .gone
        default: .failed(reason: "status \(status)", mayPass: status == 429 || status >= 500)
        }
    }
}
