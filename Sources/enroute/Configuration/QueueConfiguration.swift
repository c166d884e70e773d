// A queue of SQS to take events from: which, and as whom. The names of AWS' own tools say as whom.

import Events

extension ProcessConfiguration {
    /// `nil` where no queue is named.
    func queue() throws -> EventQueue? {
        guard let url = self.text("ENROUTE_SQS_QUEUE_URL") else { return nil }
        let why = "the queue of ENROUTE_SQS_QUEUE_URL is asked with it."
        do throws(EventQueue.InvalidSetting) {
            return try EventQueue(
                url: url, region: self.text("AWS_REGION"),
                credentials: AWSCredentials(
                    keyID: try self.credential("AWS_ACCESS_KEY_ID", why),
                    secret: try self.credential("AWS_SECRET_ACCESS_KEY", why),
                    sessionToken: self.text("AWS_SESSION_TOKEN")))
        } catch {
            throw ConfigurationError(description: error.description)
        }
    }

    private func credential(_ name: String, _ why: String) throws(EventQueue.InvalidSetting) -> String {
        guard let value = self.text(name) else {
            throw EventQueue.InvalidSetting(description: "\(name) is not set: \(why)")
        }
        return value
    }
}
