// How webhooks are delivered, according to the settings of the process.

import OutboundHTTP
import Webhooks

extension ProcessConfiguration {
    /// The number of delays before an event is sent again, and the length of each in seconds.
    private static let retryCount = 1...20
    private static let retrySeconds = 1...604_800

    func webhooks() throws -> WebhookSettings {
        let authorities = try self.authorities("ENROUTE_WEBHOOK_CA_FILE")
        var settings: WebhookSettings
        do throws(NoCertificates) {
            settings = try WebhookSettings(authorities: authorities)
        } catch {
            throw ConfigurationError(
                description: "ENROUTE_WEBHOOK_CA_FILE is \(error.path), which contains no PEM certificate.")
        }
        let ranges = try self.ranges("ENROUTE_WEBHOOK_ALLOWED_NETWORKS")
        settings.isDelivering = try self.isOn("ENROUTE_WEBHOOK_DELIVERY")
        settings.resolver = HostResolver(rule: AddressRule(allowed: ranges))
        settings.retries = RetrySchedule(
            try self.list("ENROUTE_WEBHOOK_RETRY_SECONDS").map { text in
                guard let seconds = Int(text), Self.retrySeconds.contains(seconds) else {
                    throw ConfigurationError(
                        description: "ENROUTE_WEBHOOK_RETRY_SECONDS: \(text) is not a number of seconds from "
                            + "\(Self.retrySeconds.lowerBound) to \(Self.retrySeconds.upperBound).")
                }
                return .seconds(seconds)
            })
        guard Self.retryCount.contains(settings.retries.delays.count) else {
            throw ConfigurationError(
                description: "ENROUTE_WEBHOOK_RETRY_SECONDS must have \(Self.retryCount.lowerBound) to "
                    + "\(Self.retryCount.upperBound) delays.")
        }
        settings.offAfter = try self.seconds("ENROUTE_WEBHOOK_OFF_AFTER_SECONDS")
        return settings
    }

    /// A list of networks.
    func ranges(_ setting: String) throws -> [AddressRange] {
        try self.list(setting).map { text in
            guard let range = AddressRange(text) else {
                throw ConfigurationError(
                    description: "\(setting): \(text) is not an address or a network such as 10.20.0.0/16.")
            }
            return range
        }
    }
}
