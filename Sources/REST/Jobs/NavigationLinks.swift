// URLs that open a navigation app. They contain only the destination: no name, no job, no user, and not the rider's position,
// which the app determines itself. The formats are those documented by the vendors (Google Maps URLs, Android intents, Apple
// Map Links, Waze deep links). For `geo:` (RFC 5870), Android asks the user which app to open.

internal import EnrouteWire
internal import Routing

/// The platform of the rider's phone.
enum NavigationPlatform: String, CaseIterable, Sendable {
    case ios, android, web

    /// - Parameter userAgent: the request's `User-Agent` header. An unknown one counts as `web`.
    init(userAgent: String) {
        if ["iPhone", "iPad", "iPod"].contains(where: { userAgent.contains($0) }) {
            self = .ios
        } else if userAgent.contains("Android") {
            self = .android
        } else {
            self = .web
        }
    }

    /// The navigation apps for the platform, the most common one first.
    var apps: [NavigationApp] {
        switch self {
        case .ios: [.apple, .google, .waze]
        case .android: [.google, .waze, .geo]
        case .web: [.google, .apple, .waze]
        }
    }
}

/// How the rider travels, as far as navigation apps distinguish it.
enum NavigationMode: Sendable {
    case car, bicycle, foot

    /// - Parameter vehicle: of the rider's card. Without one, the rider counts as driving a car.
    init(_ vehicle: Vehicle?) {
        switch vehicle {
        case .foot: self = .foot
        case .bicycle, .cargoBike: self = .bicycle
        case .moped, .car, .van, .truck, nil: self = .car
        }
    }

    /// The value in URLs of Google Maps.
    fileprivate var google: String {
        switch self {
        case .car: "driving"
        case .bicycle: "bicycling"
        case .foot: "walking"
        }
    }
}

enum NavigationApp: String, CaseIterable, Sendable {
    case google, apple, waze
    /// The app that the user chooses on the phone.
    case geo

    var label: String {
        switch self {
        case .google: "Google Maps"
        case .apple: "Apple Maps"
        case .waze: "Waze"
        case .geo: "Maps"
        }
    }

    /// Returns a URL for turn-by-turn navigation.
    ///
    /// - Returns: `nil` if the app does not exist on the platform, or does not navigate this way: Waze is for cars.
    func url(
        to place: DecimalCoordinate, by mode: NavigationMode, on platform: NavigationPlatform
    ) -> String? {
        let (lat, lon) = (place.latitude, place.longitude)
        switch (self, platform) {
        case (.google, .ios): return "comgooglemaps://?daddr=\(lat),\(lon)&directionsmode=\(mode.google)"
        case (.google, .android):
            let letter = mode == .car ? "d" : mode == .bicycle ? "b" : "w"
            return "google.navigation:q=\(lat),\(lon)&mode=\(letter)"
        case (.google, .web):
            return "https://www.google.com/maps/dir/?api=1&destination=\(lat)%2C\(lon)&travelmode=\(mode.google)"
                + "&dir_action=navigate"
        case (.apple, .ios), (.apple, .web):
            // Apple documents no flag for bicycles. Without a flag, the app uses the mode that its user chose last.
            let flag = mode == .car ? "&dirflg=d" : mode == .foot ? "&dirflg=w" : ""
            return "https://maps.apple.com/?daddr=\(lat),\(lon)\(flag)"
        case (.waze, _):
            return mode == .car ? "https://waze.com/ul?ll=\(lat)%2C\(lon)&navigate=yes" : nil
        case (.geo, .android): return "geo:\(lat),\(lon)"
        case (.apple, .android), (.geo, .ios), (.geo, .web): return nil
        }
    }
}

/// Coordinates for a URL: degrees with six decimals and a decimal point, independent of the locale.
struct DecimalCoordinate: Hashable, Sendable {
    let latitude: String
    let longitude: String

    init(_ place: Coordinate) {
        self.latitude = URLText.degrees(place.latitude)
        self.longitude = URLText.degrees(place.longitude)
    }
}
