// A fix with invalid coordinates. It does not make the whole message malformed: like any other refused fix it is counted, and
// the rider receives its verdict. The invalid coordinates are discarded immediately: if latitude and longitude were swapped,
// they are the rider's position.

/// A fix with invalid coordinates.
public struct InvalidFix: Hashable, Sendable {
    public enum Fault: Hashable, Sendable {
        /// The latitude or longitude is out of range.
        case outOfRange
        /// (0, 0), which broken receivers report.
        case zeroZero
    }

    /// When the sensor took the reading, ms since the epoch, by the phone's clock.
    public var at: Int64
    public var fault: Fault

    public init(at: Int64, fault: Fault) { (self.at, self.fault) = (at, fault) }

    /// A latitude with the same fault, in place of the one that was sent.
    fileprivate var latitude: Int64 { self.fault == .zeroZero ? 0 : 91 }
}

/// One fix as it was decoded: valid or invalid.
enum DecodedFix {
    case fix(Fix)
    case invalid(InvalidFix)

    init(from reader: inout JSONReader) throws(BadMessage) {
        var members = Members("a fix")
        var (at, latitude, longitude) = (Int64?.none, Double?.none, Double?.none)
        var (accuracy, speed, heading) = (Double?.none, Double?.none, Double?.none)
        var (isMocked, isSnapped) = (false, false)
        try reader.object { (name, reader) throws(BadMessage) in
            if name.equals("at") {
                try members.once(0)
                at = try reader.integer("at")
            } else if name.equals("lat") {
                try members.once(1)
                latitude = try reader.double()
            } else if name.equals("lon") {
                try members.once(2)
                longitude = try reader.double()
            } else if name.equals("acc") {
                try members.once(3)
                accuracy = try reader.optionalDouble(in: Fix.accuracies, "acc must be a radius from 0 to 10000 m")
            } else if name.equals("spd") {
                try members.once(4)
                speed = try reader.measured(in: Fix.speeds, "spd must be a speed from 0 to 340 m/s")
            } else if name.equals("hdg") {
                try members.once(5)
                heading = try reader.measured(in: Fix.headings, "hdg must be a heading from 0 to 360 degrees")
            } else if name.equals("mock") {
                try members.once(6)
                isMocked = try reader.null() ? false : reader.boolean()
            } else if name.equals("snapped") {
                try members.once(7)
                isSnapped = try reader.null() ? false : reader.boolean()
            } else {
                try reader.value()
            }
        }
        guard let at, Fix.times.contains(at) else { throw BadMessage("a fix needs at: ms since the epoch") }
        guard let latitude, let longitude else { throw BadMessage("a fix needs lat and lon") }
        guard let place = Coordinate(latitude: latitude, longitude: longitude) else {
            let isInRange = (-90...90).contains(latitude) && (-180...180).contains(longitude)
            self = .invalid(InvalidFix(at: at, fault: isInRange ? .zeroZero : .outOfRange))
            return
        }
        self = .fix(
            Fix(
                at: at, place: place, accuracyMeters: accuracy, speedMetersPerSecond: speed, headingDegrees: heading,
                isMocked: isMocked, isSnapped: isSnapped))
    }

    func write(into writer: inout JSONWriter) {
        switch self {
        case .fix(let fix):
            writer.field("at", fix.at)
            fix.write(into: &writer)
        case .invalid(let invalid):
            writer.field("at", invalid.at)
            writer.field("lat", invalid.latitude)
            writer.field("lon", 0)
        }
    }
}

extension JSONReader {
    /// Reads a number that the phone may not have measured: `null`, or -1 as on iOS.
    fileprivate mutating func measured(in range: ClosedRange<Double>, _ rule: StaticString) throws(BadMessage)
        -> Double?
    {
        if self.null() { return nil }
        let value = try self.double()
        guard value != -1 else { return nil }
        guard range.contains(value) else { throw BadMessage("\(rule)") }
        return value
    }

    /// Reads the array `fixes` of a message or a batch: the valid fixes and the invalid ones.
    ///
    /// - Parameter message: the name of the message or batch, for the error message.
    mutating func fixes(of message: StaticString) throws(BadMessage) -> (fixes: [Fix], invalidFixes: [InvalidFix]) {
        var (fixes, invalidFixes) = ([Fix](), [InvalidFix]())
        try self.array { (reader) throws(BadMessage) in
            guard fixes.count + invalidFixes.count < LocationReport.maxFixes else {
                throw BadMessage("\(message) can contain at most \(LocationReport.maxFixes) fixes")
            }
            switch try DecodedFix(from: &reader) {
            case .fix(let fix): fixes.append(fix)
            case .invalid(let invalid): invalidFixes.append(invalid)
            }
        }
        return (fixes, invalidFixes)
    }
}
