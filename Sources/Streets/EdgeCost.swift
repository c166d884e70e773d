// The seconds that a vehicle needs for an edge in one direction.

extension TravelCosts {
    /// Whether the vehicle may travel an edge to its end.
    @inline(__always)
    func allows(_ rule: UInt32, backward: UInt32) -> Bool {
        rule & (self.forwardAccess << backward) != 0
            && rule & (self.forbidden | self.forwardRestriction << backward) == 0
    }

    /// Like `allows`, but ignores a turn restriction at the end of the edge: for routes that end on the edge, and for a map
    /// matcher.
    @inline(__always)
    func allowsPart(_ rule: UInt32, backward: UInt32) -> Bool {
        rule & (self.forwardAccess << backward) != 0 && rule & self.forbidden == 0
    }

    /// Seconds along `centimeters` of an edge, without the crossing at its end. Infinite if the file has no speed.
    @inline(__always)
    func seconds(_ rule: UInt32, centimeters: Float, _ perCentimeter: UnsafePointer<Float>) -> Float {
        let seconds = centimeters * perCentimeter[Int(rule & StreetRule.speedMask)]
        return rule & self.slow != 0 ? seconds * Self.slowFactor : seconds
    }

    /// Seconds lost at the end of an edge.
    @inline(__always)
    func delay(_ rule: UInt32, backward: UInt32) -> Float {
        // The bit of the end is the next higher bit after that of the start.
        if rule & (StreetRule.lights(atStart: false) >> backward) != 0 { return self.lightsSeconds }
        return rule & (StreetRule.crossing(atStart: false) >> backward) != 0 ? self.crossingSeconds : 0
    }

    /// Seconds along a part of an edge.
    func seconds(_ rule: UInt32, meters: Double) -> Double {
        self.secondsPerCentimeter.withUnsafeBufferPointer {
            $0.baseAddress.map { Double(self.seconds(rule, centimeters: Float(meters * 100), $0)) } ?? .infinity
        }
    }
}
