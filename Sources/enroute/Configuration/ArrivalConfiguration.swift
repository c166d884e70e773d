// Services of arrival times: which, where they are, as whom they are asked and how often.

import Foundation
import ETA
import Gateway
import Realtime
import Routing

extension ProcessConfiguration {
    /// In the order they are asked where no other is set: who knows the traffic first.
    private static let services = ["azure_maps", "mapbox", "osrm"]
    /// Questions a day to a service that is paid for, unless set.
    private static let usualBudget = 1000

    func arrivals() throws -> ArrivalSettings {
        var settings = ArrivalSettings()
        settings.interval = .seconds(try self.integer("ENROUTE_ETA_INTERVAL_SECONDS", in: 10...60, default: 60))
        settings.authorities = try self.authorities("ENROUTE_ETA_CA_FILE")
        var known: [String: ArrivalService] = [:]
        if let url = self.text("ENROUTE_ETA_OSRM_URL") {
            known["osrm"] = ArrivalService(
                try self.usable("ENROUTE_ETA_OSRM_URL") { try OSRM(url: url) },
                dailyBudget: try self.budget("ENROUTE_ETA_OSRM_DAILY_LIMIT", usual: 0))
        }
        if let key = try self.key("ENROUTE_ETA_AZURE_KEY") {
            let url = self.text("ENROUTE_ETA_AZURE_URL") ?? AzureMaps.usualURL
            known["azure_maps"] = ArrivalService(
                try self.usable("ENROUTE_ETA_AZURE_URL") { try AzureMaps(key: key, url: url) },
                dailyBudget: try self.budget("ENROUTE_ETA_AZURE_DAILY_LIMIT", usual: Self.usualBudget))
        }
        if let key = try self.key("ENROUTE_ETA_MAPBOX_TOKEN") {
            let url = self.text("ENROUTE_ETA_MAPBOX_URL") ?? MapboxDirections.usualURL
            known["mapbox"] = ArrivalService(
                try self.usable("ENROUTE_ETA_MAPBOX_URL") { try MapboxDirections(key: key, url: url) },
                dailyBudget: try self.budget("ENROUTE_ETA_MAPBOX_DAILY_LIMIT", usual: Self.usualBudget))
        }
        if let key = try self.key("ENROUTE_GEOCODING_MAPBOX_TOKEN") {
            let url = self.text("ENROUTE_ETA_MAPBOX_URL") ?? MapboxDirections.usualURL
            settings.geocoding = (
                try self.usable("ENROUTE_ETA_MAPBOX_URL") { try MapboxGeocoding(key: key, url: url) },
                try self.budget("ENROUTE_GEOCODING_DAILY_LIMIT", usual: Self.usualBudget)
            )
        }
        settings.services = try self.order(known.keys.sorted()).compactMap { known[$0] }
        return settings
    }

    private func usable<Provider>(
        _ name: String, _ make: () throws -> Provider
    ) throws -> Provider {
        do {
            return try make()
        } catch let error as InvalidProviderSetting {
            throw ConfigurationError(description: "\(name) can not be used. \(error.description)")
        }
    }

    /// All that are set, in the order that is set or the usual one.
    private func order(_ known: [String]) throws -> [String] {
        let order = self.list("ENROUTE_ETA_PROVIDER_ORDER")
        guard !order.isEmpty else { return Self.services }
        guard Set(order).count == order.count, Set(order) == Set(known) else {
            throw ConfigurationError(
                description: "ENROUTE_ETA_PROVIDER_ORDER is \(order.joined(separator: ",")); it must name each of "
                    + "\(known.isEmpty ? "no service, since none is set" : known.joined(separator: ", ")), once.")
        }
        return order
    }

    /// - Returns: `nil` for no bound.
    private func budget(_ name: String, usual: Int) throws -> Int? {
        let questions = try self.integer(name, in: 0...1_000_000_000, default: usual)
        return questions == 0 ? nil : questions
    }

    /// A key, or that of the file which `<name>_FILE` names.
    private func key(_ name: String) throws -> ProviderKey? {
        guard let text = try self.text(name) ?? self.content(of: name + "_FILE") else { return nil }
        guard let key = ProviderKey(text) else {
            throw ConfigurationError(
                description: "\(name) can not stand in a request: it must be printable ASCII without spaces.")
        }
        return key
    }

    private func content(of name: String) throws -> String? {
        guard let file = self.text(name) else { return nil }
        guard let bytes = FileManager.default.contents(atPath: file) else {
            throw ConfigurationError(description: "\(name) names \(file), which can not be read.")
        }
        return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The file itself is read by who trusts it; here it is only found to be one.
    func authorities(_ name: String) throws -> String? {
        guard let file = self.text(name) else { return nil }
        guard try self.content(of: name)?.contains("-----BEGIN CERTIFICATE-----") == true else {
            throw ConfigurationError(description: "\(name) names \(file), which holds no certificate in PEM.")
        }
        return file
    }
}
