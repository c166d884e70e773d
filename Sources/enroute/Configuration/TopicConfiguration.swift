// Topics of AWS SNS that may send events: which, and where the certificates that sign their messages come from.

import Events

extension ProcessConfiguration {
    /// `nil` where no topic is named.
    func topics() throws -> SNSVerifier? {
        let oldest = try self.integer(
            "ENROUTE_SNS_MAX_AGE_SECONDS", in: 0...31_536_000, default: SNSVerifier.usualOldestSeconds)
        let topics = self.list("ENROUTE_SNS_TOPICS")
        guard !topics.isEmpty else {
            for name in ["ENROUTE_SNS_CERTIFICATE_HOSTS", "ENROUTE_SNS_CA_FILE", "ENROUTE_SNS_MAX_AGE_SECONDS"]
            where self.text(name) != nil {
                throw ConfigurationError(
                    description:
                        "\(name) is set and no topic may send: name the topics in ENROUTE_SNS_TOPICS, or unset it.")
            }
            return nil
        }
        do throws(SNSVerifier.InvalidSetting) {
            return try SNSVerifier(
                topics: topics, hosts: self.list("ENROUTE_SNS_CERTIFICATE_HOSTS"),
                authorities: self.text("ENROUTE_SNS_CA_FILE"), oldestSeconds: oldest)
        } catch {
            throw ConfigurationError(description: error.description)
        }
    }
}
