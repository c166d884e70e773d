// The speeds of vehicles, by class of street and speed limit. Only these constants are calibrated: see README.md.

internal import EnrouteWire

/// The speeds of one vehicle.
struct VehicleSpeeds: Sendable {
    /// The vehicle never travels faster, km/h.
    var fastest: Double
    /// The vehicle's speed as a share of a car's, or of the usual speed of its kind of travel.
    var factor: Double
    /// Seconds lost at a crossing without traffic lights, and at one with them.
    var crossingSeconds: Double
    var lightsSeconds: Double

    /// Factors by vehicle. A car's factors are calibrated with recorded trips (README.md). Searches are faster for a vehicle
    /// whose numbers are nearly proportional to those of the fastest vehicle of its kind, because the landmarks are calculated
    /// for that one.
    static func of(_ vehicle: Vehicle) -> VehicleSpeeds {
        switch vehicle {
        case .foot: VehicleSpeeds(fastest: 5, factor: 1, crossingSeconds: 0.5, lightsSeconds: 12)
        case .bicycle: VehicleSpeeds(fastest: 18, factor: 1, crossingSeconds: 1, lightsSeconds: 12)
        case .cargoBike: VehicleSpeeds(fastest: 16, factor: 0.88, crossingSeconds: 1 / 0.88, lightsSeconds: 12 / 0.88)
        case .moped: VehicleSpeeds(fastest: 42, factor: 1, crossingSeconds: 2.6, lightsSeconds: 14)
        case .car: VehicleSpeeds(fastest: 130, factor: 1, crossingSeconds: 2.6, lightsSeconds: 14)
        case .van: VehicleSpeeds(fastest: 120, factor: 0.95, crossingSeconds: 2.6 / 0.95, lightsSeconds: 14 / 0.95)
        case .truck: VehicleSpeeds(fastest: 80, factor: 0.85, crossingSeconds: 2.6 / 0.85, lightsSeconds: 14 / 0.85)
        }
    }

    /// The share of a speed limit that traffic reaches between crossings.
    static let limitShare = 0.8

    /// The usual speed of a car, km/h, where no speed limit is known.
    static func car(_ road: RoadClass) -> Double {
        switch road {
        case .motorway: 100
        case .trunk: 75
        case .primary: 42
        case .secondary: 39
        case .tertiary: 35
        case .street: 33
        case .unclassified: 33
        case .residential: 26
        case .livingStreet: 10
        case .service: 14
        case .pedestrian, .track, .cycleway, .footway, .path, .steps: 8
        }
    }

    /// The usual speed of a bicycle, km/h.
    static func bicycle(_ road: RoadClass) -> Double {
        switch road {
        case .motorway, .trunk, .primary, .secondary, .tertiary, .street, .unclassified, .residential, .cycleway: 17
        case .livingStreet, .service, .track: 14
        case .path: 12
        case .pedestrian, .footway: 7
        case .steps: 2
        }
    }

    /// The usual speed on foot, km/h.
    static func foot(_ road: RoadClass) -> Double { road == .steps ? 2.5 : 4.8 }

    /// The speed, km/h, between crossings.
    func kilometersPerHour(_ kind: TravelKind, _ road: RoadClass, limit: UInt8) -> Double {
        let usual: Double =
            switch kind {
            case .foot: Self.foot(road)
            case .bicycle: Self.bicycle(road)
            case .motor: limit == 0 ? Self.car(road) : min(Double(limit) * Self.limitShare, Self.fastestOn(road))
            }
        return min(self.fastest, usual * self.factor)
    }

    /// The maximum speed of traffic on a kind of street, km/h, even if the limit is higher.
    private static func fastestOn(_ road: RoadClass) -> Double {
        switch road {
        case .livingStreet: 12
        case .service: 18
        case .pedestrian, .track, .cycleway, .footway, .path, .steps: 10
        default: 130
        }
    }
}

extension TravelKind {
    /// - Parameter vehicle: `nil` for an unknown one, which counts as a car.
    init(_ vehicle: Vehicle?) {
        switch vehicle {
        case .foot: self = .foot
        case .bicycle, .cargoBike: self = .bicycle
        case .moped, .car, .van, .truck, nil: self = .motor
        }
    }
}

/// The seconds that a vehicle needs for edges, as a search uses them.
struct TravelCosts: Sendable {
    let kind: TravelKind
    /// Seconds per centimeter by the bits of `StreetRule.speedMask`.
    let secondsPerCentimeter: [Float]
    let crossingSeconds: Float
    let lightsSeconds: Float
    /// Edges with one of these bits are not used.
    let forbidden: UInt32
    /// An edge with one of these bits takes `slowFactor` times as long, so it is used only for the last meters.
    let slow: UInt32
    /// The bit of `StreetRule` that allows this kind of travel forward. The next bit allows it backward.
    let forwardAccess: UInt32
    /// The bit of `StreetRule` for a turn restriction at the end in the forward direction, if the vehicle must obey it;
    /// otherwise 0. The next bit is for the backward direction.
    let forwardRestriction: UInt32

    static let slowFactor: Float = 3

    init(_ vehicle: Vehicle) {
        let (kind, speeds) = (TravelKind(vehicle), VehicleSpeeds.of(vehicle))
        self.kind = kind
        self.secondsPerCentimeter = (0..<StreetRule.speedCount).map { index in
            let rule = StreetRule(bits: UInt32(index))
            return Float(0.036 / speeds.kilometersPerHour(kind, rule.road, limit: rule.limit))
        }
        (self.crossingSeconds, self.lightsSeconds) = (Float(speeds.crossingSeconds), Float(speeds.lightsSeconds))
        self.forwardAccess = StreetRule.access(kind, backward: false)
        self.forwardRestriction = kind == .motor ? StreetRule.restricted(backward: false) : 0
        self.forbidden = vehicle == .moped ? StreetRule.noMopeds : 0
        self.slow = StreetRule.local(kind) | (vehicle == .truck ? StreetRule.noTrucks : 0)
    }

    /// The numbers that landmarks are calculated with, as stored in a file: seconds per centimeter by the bits of
    /// `StreetRule.speedMask`, then the seconds of a crossing, of traffic lights, and the factor for local traffic.
    var numbers: [Float] {
        self.secondsPerCentimeter + [self.crossingSeconds, self.lightsSeconds, Self.slowFactor]
    }

    static let numberCount = StreetRule.speedCount + 3

    /// The costs that the landmarks are calculated with: those of the fastest vehicle of a kind.
    static func fastest(_ kind: TravelKind) -> TravelCosts {
        switch kind {
        case .foot: TravelCosts(.foot)
        case .bicycle: TravelCosts(.bicycle)
        case .motor: TravelCosts(.car)
        }
    }
}
