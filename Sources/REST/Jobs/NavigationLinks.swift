// Addresses that open a navigation app, with a place to go to and nothing else: no name, no job, no person, and not where the
// rider is, which the app knows by itself. As the apps' makers document them (Google Maps URLs, Android intents, Apple Map
// Links, Waze deep links); `geo:` is RFC 5870, by which Android asks which app to use.

internal import EnrouteWire
internal import Routing

/// What the rider's phone is.
enum NavigationPlatform: String, CaseIterable, Sendable {
    case ios, android, web

    /// - Parameter userAgent: of the request; what is not known is a browser like any other.
    init(userAgent: String) {
        if ["iPhone", "iPad", "iPod"].contains(where: { userAgent.contains($0) }) {
            self = .ios
        } else if userAgent.contains("Android") {
            self = .android
        } else {
            self = .web
        }
    }

    /// Those that there are for it, the usual one first.
    var apps: [NavigationApp] {
        switch self {
        case .ios: [.apple, .google, .waze]
        case .android: [.google, .waze, .geo]
        case .web: [.google, .apple, .waze]
        }
    }
}

enum NavigationApp: String, CaseIterable, Sendable {
    case google, apple, waze
    /// Whichever the phone asks for.
    case geo

    var label: String {
        switch self {
        case .google: "Google Maps"
        case .apple: "Apple Maps"
        case .waze: "Waze"
        case .geo: "Maps"
        }
    }

    /// Turn by turn to a place, by car.
    ///
    /// - Returns: `nil` where the platform has no such app.
    func url(to place: DecimalCoordinate, on platform: NavigationPlatform) -> String? {
        let (lat, lon) = (place.latitude, place.longitude)
        return switch (self, platform) {
        case (.google, .ios): "comgooglemaps://?daddr=\(lat),\(lon)&directionsmode=driving"
        case (.google, .android): "google.navigation:q=\(lat),\(lon)&mode=d"
        case (.google, .web):
            "https://www.google.com/maps/dir/?api=1&destination=\(lat)%2C\(lon)&travelmode=driving&dir_action=navigate"
        case (.apple, .ios), (.apple, .web): "https://maps.apple.com/?daddr=\(lat),\(lon)&dirflg=d"
        case (.waze, _): "https://waze.com/ul?ll=\(lat)%2C\(lon)&navigate=yes"
        case (.geo, .android): "geo:\(lat),\(lon)"
        case (.apple, .android), (.geo, .ios), (.geo, .web): nil
        }
    }
}

/// A place in degrees with six decimals and a point, whatever the machine's locale: texts for an address.
struct DecimalCoordinate: Hashable, Sendable {
    let latitude: String
    let longitude: String

    init(_ place: Coordinate) {
        self.latitude = URLText.degrees(place.latitude)
        self.longitude = URLText.degrees(place.longitude)
    }
}
