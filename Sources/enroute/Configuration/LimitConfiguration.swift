// Limits of clients, and bounds of the whole gateway.

import EnrouteWire
import Gateway
import TrafficControl

extension Limits {
    /// A rate of 0 disables a limit per address. In `Limits`, a burst of 0 does that.
    fileprivate mutating func switchOffWithoutRate() {
        if self.messagesPerAddressPerSecond == 0 { self.messagesPerAddressBurst = 0 }
        if self.refusedTokensPerAddressPerSecond == 0 { self.refusedTokensPerAddressBurst = 0 }
        if self.anonymousRequestsPerAddressPerSecond == 0 { self.anonymousRequestsPerAddressBurst = 0 }
        if self.tilesPerAddressPerSecond == 0 { self.tilesPerAddressBurst = 0 }
    }
}

extension ProcessConfiguration {
    func limits() throws -> Limits {
        var limits = Limits()
        for limit in LimitSetting.all { limits[keyPath: limit.path] = try self.integer(limit.setting.name) }
        limits.switchOffWithoutRate()
        return limits
    }

    func overload() throws -> OverloadBounds {
        var bounds = OverloadBounds()
        bounds.loopLagMilliseconds = try self.integer("ENROUTE_OVERLOAD_LOOP_LAG_MS")
        bounds.descriptorPercent = try self.integer("ENROUTE_OVERLOAD_DESCRIPTOR_PERCENT")
        bounds.memoryBytes = try self.integer("ENROUTE_OVERLOAD_MEMORY_MB") * 1_048_576
        return bounds
    }

    /// Where probes and metrics are served; `nil` if they are not.
    func management() throws -> (host: String, port: Int)? {
        guard try self.isOn("ENROUTE_MANAGEMENT") else { return nil }
        let host = try self.required("ENROUTE_MANAGEMENT_HOST", "the address of the management listener.")
        return (Self.unbracketed(host), try self.integer("ENROUTE_MANAGEMENT_PORT"))
    }
}
