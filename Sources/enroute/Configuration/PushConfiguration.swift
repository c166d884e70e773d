// Push messages to browsers, from the settings of the process.

import Foundation
import OutboundHTTP
import Push
import Webhooks

extension ProcessConfiguration {
    /// `nil` without a key: then no browser is notified.
    func push() throws -> PushSettings? {
        guard let path = self.text("ENROUTE_PUSH_KEY_FILE") else { return nil }
        guard let pem = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw ConfigurationError(description: "ENROUTE_PUSH_KEY_FILE is \(path), which cannot be read.")
        }
        let contact = try self.required(
            "ENROUTE_PUSH_CONTACT", "the address at which push services reach you, such as mailto:ops@example.com.")
        guard PushKey.isContact(contact) else {
            throw ConfigurationError(
                description: "ENROUTE_PUSH_CONTACT must be mailto: with an e-mail address, or an https:// URL.")
        }
        let key: PushKey
        do throws(PushKey.Invalid) {
            key = try PushKey(pem: pem, contact: contact)
        } catch {
            throw ConfigurationError(description: "ENROUTE_PUSH_KEY_FILE \(error)")
        }
        let ranges = try self.ranges("ENROUTE_PUSH_ALLOWED_NETWORKS")
        let authorities = try self.authorities("ENROUTE_PUSH_CA_FILE")
        do throws(NoCertificates) {
            return try PushSettings(
                key: key, resolver: HostResolver(rule: AddressRule(allowed: ranges)),
                authorities: authorities)
        } catch {
            throw ConfigurationError(
                description: "ENROUTE_PUSH_CA_FILE is \(error.path), which contains no PEM certificate.")
        }
    }
}
