// An invalid setting of a client. The client knows which setting is wrong and why; its creator knows where the value is
// configured, and adds that place to the message.

/// Why a setting is invalid.
package struct InvalidServiceSetting<Setting: Hashable & Sendable>: Error, Hashable, CustomStringConvertible {
    package let setting: Setting
    /// The rest of a sentence that starts with the setting's name: "must start with https://."
    package let problem: String

    package init(_ setting: Setting, _ problem: String) { (self.setting, self.problem) = (setting, problem) }

    package var description: String { "\(self.setting) \(self.problem)" }
}
