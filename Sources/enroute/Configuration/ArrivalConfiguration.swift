// Providers of arrival times and of geocoding: which ones, where they are, with which keys, and how often they are used.

import ETA
import Foundation
import Gateway
import Realtime
import Routing
import Streets
import Tracking

extension ProcessConfiguration {
    /// The default order in which providers are tried. Providers that know the traffic come first. The list must
    /// contain every provider: a missing one would be queried only if `ENROUTE_ETA_PROVIDER_ORDER` names it.
    static let providerOrder = ["azure_maps", "mapbox", "osrm"]
    /// The default limit of requests per day to a provider that charges for them.
    static let defaultDailyLimit = 1000

    /// The arrival times of deliveries before their rider sends positions.
    func earlyArrivals() throws -> EarlyArrival.Settings {
        var settings = EarlyArrival.Settings()
        settings.isOn = try self.isOn("ENROUTE_ETA_BEFORE_PICKUP")
        settings.preparationSeconds = Double(try self.integer("ENROUTE_ETA_PREPARATION_SECONDS"))
        settings.pickupSeconds = Double(try self.integer("ENROUTE_ETA_PICKUP_SECONDS"))
        return settings
    }

    func arrivals() throws -> ArrivalSettings {
        var settings = ArrivalSettings()
        settings.interval = try self.seconds("ENROUTE_ETA_INTERVAL_SECONDS")
        settings.early = try self.earlyArrivals()
        settings.authorities = try self.authorities("ENROUTE_ETA_CA_FILE")
        var known: [String: ArrivalService] = [:]
        if let url = self.text("ENROUTE_ETA_OSRM_URL") {
            known["osrm"] = ArrivalService(
                try self.provider("ENROUTE_ETA_OSRM_URL") { try OSRM(url: url) },
                dailyBudget: try self.budget("ENROUTE_ETA_OSRM_DAILY_LIMIT"))
        }
        if let key = try self.key("ENROUTE_ETA_AZURE_KEY") {
            let url = self.text("ENROUTE_ETA_AZURE_URL") ?? AzureMaps.usualURL
            known["azure_maps"] = ArrivalService(
                try self.provider("ENROUTE_ETA_AZURE_URL") { try AzureMaps(key: key, url: url) },
                dailyBudget: try self.budget("ENROUTE_ETA_AZURE_DAILY_LIMIT"))
        }
        if let key = try self.key("ENROUTE_ETA_MAPBOX_TOKEN") {
            let url = self.text("ENROUTE_ETA_MAPBOX_URL") ?? MapboxDirections.usualURL
            known["mapbox"] = ArrivalService(
                try self.provider("ENROUTE_ETA_MAPBOX_URL") { try MapboxDirections(key: key, url: url) },
                dailyBudget: try self.budget("ENROUTE_ETA_MAPBOX_DAILY_LIMIT"))
        }
        if let key = try self.key("ENROUTE_GEOCODING_MAPBOX_TOKEN") {
            let url = self.text("ENROUTE_ETA_MAPBOX_URL") ?? MapboxDirections.usualURL
            settings.geocoding = (
                try self.provider("ENROUTE_ETA_MAPBOX_URL") { try MapboxGeocoding(key: key, url: url) },
                try self.budget("ENROUTE_GEOCODING_DAILY_LIMIT")
            )
        }
        precondition(known.keys.allSatisfy(Self.providerOrder.contains), "providerOrder must name every provider")
        settings.services = try self.order(known.keys.sorted()).compactMap { known[$0] }
        settings.streets = try self.text("ENROUTE_STREETS_FILE").map { path in
            try self.naming("ENROUTE_STREETS_FILE") { try StreetNetwork(path: path) }
        }
        return settings
    }

    private func provider<Provider>(_ name: String, _ make: () throws -> Provider) throws -> Provider {
        do {
            return try make()
        } catch let error as InvalidProviderSetting {
            throw ConfigurationError(description: "\(name): \(error.description)")
        }
    }

    /// The configured providers, in the configured or the default order.
    private func order(_ known: [String]) throws -> [String] {
        let name = "ENROUTE_ETA_PROVIDER_ORDER"
        guard self.isSet(name) else { return Self.providerOrder }
        let order = self.list(name)
        guard Set(order).count == order.count, Set(order) == Set(known) else {
            throw ConfigurationError(
                description: "\(name) is \(order.joined(separator: ",")); "
                    + (known.isEmpty
                        ? "no provider is configured: configure one, or unset it."
                        : "it must name each configured provider once: \(known.joined(separator: ", "))."))
        }
        return order
    }

    /// - Returns: `nil` for no limit.
    private func budget(_ name: String) throws -> Int? {
        let requests = try self.integer(name)
        return requests == 0 ? nil : requests
    }

    private func key(_ name: String) throws -> ProviderKey? {
        guard let text = self.text(name) else { return nil }
        guard let key = ProviderKey(text) else {
            throw ConfigurationError(
                description: "\(name) cannot be sent in a request: it must be printable ASCII without spaces.")
        }
        return key
    }

    private func content(of name: String) throws -> String? {
        guard let file = self.text(name) else { return nil }
        guard let bytes = FileManager.default.contents(atPath: file) else {
            throw ConfigurationError(description: "\(name) names \(file), which cannot be read.")
        }
        return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The path of a file of certificates. This only checks that the file is readable and contains a certificate; the
    /// client that trusts them reads it.
    func authorities(_ name: String) throws -> String? {
        guard let file = self.text(name) else { return nil }
        guard try self.content(of: name)?.contains("-----BEGIN CERTIFICATE-----") == true else {
            throw ConfigurationError(description: "\(name) names \(file), which contains no PEM certificate.")
        }
        return file
    }
}
