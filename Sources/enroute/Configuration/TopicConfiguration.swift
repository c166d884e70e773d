// AWS SNS topics that may send events, and the hosts of the certificates that sign their messages.

import Events
import OutboundHTTP

extension ProcessConfiguration {
    /// - Returns: `nil` if no topic is configured.
    func topics() throws -> SNSVerifier? {
        let oldest = try self.integer("ENROUTE_SNS_MAX_AGE_SECONDS")
        let topics = self.list("ENROUTE_SNS_TOPICS")
        guard !topics.isEmpty else {
            for name in ["ENROUTE_SNS_CERTIFICATE_HOSTS", "ENROUTE_SNS_CA_FILE", "ENROUTE_SNS_MAX_AGE_SECONDS"]
            where self.isSet(name) {
                throw ConfigurationError(
                    description: "\(name) is set, but ENROUTE_SNS_TOPICS is not. Set it, or unset \(name).")
            }
            return nil
        }
        do throws(SNSVerifier.InvalidSetting) {
            return try SNSVerifier(
                topics: topics, hosts: self.list("ENROUTE_SNS_CERTIFICATE_HOSTS"),
                authorities: self.text("ENROUTE_SNS_CA_FILE"), oldestSeconds: oldest)
        } catch {
            let name =
                switch error.setting {
                case .topics: "ENROUTE_SNS_TOPICS"
                case .hosts: "ENROUTE_SNS_CERTIFICATE_HOSTS"
                case .authorities: "ENROUTE_SNS_CA_FILE"
                }
            throw ConfigurationError(description: "\(name) \(error.problem)")
        }
    }
}
