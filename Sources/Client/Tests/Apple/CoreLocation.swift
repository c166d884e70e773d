// A stub of CoreLocation with the parts that EnrouteLocation uses, so that its code can be type-checked on Linux. It
// does nothing.

@_exported import Foundation

public typealias CLLocationDegrees = Double
public typealias CLLocationAccuracy = Double
public typealias CLLocationDistance = Double
public let kCLLocationAccuracyBest: CLLocationAccuracy = -1
public let kCLDistanceFilterNone: CLLocationDistance = -1
public let kCLLocationAccuracyNearestTenMeters: CLLocationAccuracy = 10

public struct CLLocationCoordinate2D {
    public var latitude: CLLocationDegrees
    public var longitude: CLLocationDegrees
}

open class CLLocation: NSObject, @unchecked Sendable {
    public var coordinate: CLLocationCoordinate2D { fatalError() }
    public var horizontalAccuracy: CLLocationAccuracy { fatalError() }
    public var speed: Double { fatalError() }
    public var course: Double { fatalError() }
    public var timestamp: Date { fatalError() }
    public var sourceInformation: CLLocationSourceInformation? { fatalError() }
}

public final class CLLocationSourceInformation: NSObject {
    public var isSimulatedBySoftware: Bool { fatalError() }
}

public enum CLAuthorizationStatus: Int32, Sendable {
    case notDetermined, restricted, denied, authorizedAlways, authorizedWhenInUse
}
public enum CLAccuracyAuthorization: Int, Sendable { case fullAccuracy, reducedAccuracy }
public enum CLActivityType: Int, Sendable { case other = 1, automotiveNavigation, fitness, otherNavigation, airborne }

public struct CLError: Error {
    public enum Code: Int, Sendable { case locationUnknown, denied }
    public var code: Code
}

/// Without `requestLocation()`, which must not be used while the location is being updated.
open class CLLocationManager: NSObject {
    public weak var delegate: (any CLLocationManagerDelegate)?
    public class func locationServicesEnabled() -> Bool { fatalError() }
    public var authorizationStatus: CLAuthorizationStatus { fatalError() }
    public var accuracyAuthorization: CLAccuracyAuthorization { fatalError() }
    public var desiredAccuracy: CLLocationAccuracy = 0
    public var distanceFilter: CLLocationDistance = 0
    public var activityType: CLActivityType = .other
    public var pausesLocationUpdatesAutomatically = true
    public var allowsBackgroundLocationUpdates = false
    public func requestWhenInUseAuthorization() {}
    public func startUpdatingLocation() {}
    public func stopUpdatingLocation() {}
}

public protocol CLLocationManagerDelegate: AnyObject {
    func locationManager(_ manager: CLLocationManager, didUpdateLocations locations: [CLLocation])
    func locationManager(_ manager: CLLocationManager, didFailWithError error: any Error)
    func locationManagerDidChangeAuthorization(_ manager: CLLocationManager)
}

public final class CLBackgroundActivitySession: NSObject {
    public func invalidate() {}
}

extension ProcessInfo {
    public var isLowPowerModeEnabled: Bool { false }
}
