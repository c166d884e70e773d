// An AWS SQS queue from which events are received. The settings of its credentials have the names that AWS's own tools
// use.

import Events
import OutboundHTTP

extension ProcessConfiguration {
    /// - Returns: `nil` if no queue is configured.
    func queue() throws -> EventQueue? {
        guard let url = self.text("ENROUTE_SQS_QUEUE_URL") else { return nil }
        let why = "the credential for requests to the queue of ENROUTE_SQS_QUEUE_URL."
        let credentials = AWSCredentials(
            keyID: try self.required("AWS_ACCESS_KEY_ID", why),
            secret: try self.required("AWS_SECRET_ACCESS_KEY", why), sessionToken: self.text("AWS_SESSION_TOKEN"))
        do throws(EventQueue.InvalidSetting) {
            return try EventQueue(url: url, region: self.text("AWS_REGION"), credentials: credentials)
        } catch {
            let name =
                switch error.setting {
                case .url: "ENROUTE_SQS_QUEUE_URL"
                case .region: "AWS_REGION"
                case .authorities: "The system's trust store"
                }
            throw ConfigurationError(description: "\(name) \(error.problem)")
        }
    }
}
