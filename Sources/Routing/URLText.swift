// Formats parts of URLs: degrees with a decimal point in every locale, and percent-encoding (RFC 3986 section 2).

import EnrouteWire
internal import OutboundHTTP

package enum URLText {
    /// Formats degrees with six decimals (0.1 m).
    package static func degrees(_ value: Double) -> String {
        let millionths = Int((value * 1e6).rounded())
        let fraction = String(abs(millionths) % 1_000_000)
        return (millionths < 0 ? "-" : "") + String(abs(millionths) / 1_000_000) + "."
            + String(repeating: "0", count: 6 - fraction.count) + fraction
    }

    /// `longitude,latitude`: the order of OSRM and Mapbox, and of GeoJSON.
    static func longitudeFirst(_ place: Coordinate) -> String {
        self.degrees(place.longitude) + "," + self.degrees(place.latitude)
    }

    static func percentEncoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(UnicodeScalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += "%" + (digits.count < 2 ? "0" : "") + digits
            }
        }
        return encoded
    }

    /// - Parameter host: `host`, `host:port` or `[IPv6]:port`. A port outside of 1 to 65535 would crash the process
    ///   when it is used.
    static func hasUsablePort(_ host: Substring) -> Bool {
        let behindAddress = host.split(separator: "]", omittingEmptySubsequences: false).last ?? host
        guard let colon = behindAddress.lastIndex(of: ":") else { return true }
        return (UInt16(behindAddress[behindAddress.index(after: colon)...]) ?? 0) != 0
    }

    /// - Returns: the URL without a slash at its end; `nil` if it is not the URL of a service.
    static func base(_ text: String, mustBeSecure: Bool) -> String? {
        let isSecure = text.hasPrefix("https://")
        guard isSecure || text.hasPrefix("http://"), text.utf8.allSatisfy({ (33...126).contains($0) }) else {
            return nil
        }
        let rest = text.dropFirst(isSecure ? 8 : 7)
        guard let host = rest.split(separator: "/", omittingEmptySubsequences: false).first, !host.isEmpty,
            !rest.contains(where: { "@?#".contains($0) })
        else { return nil }
        guard self.hasUsablePort(host) else { return nil }
        guard isSecure || !mustBeSecure || LoopbackHost.isHost(of: host) else { return nil }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }
}
