// Scripted trips for tests and previews.

public import Enroute

/// Makes the places of trips.
public enum Trip {
    /// Returns places on a straight line, including its ends, close enough together that one step per second is plausible.
    public static func straight(from start: Place, to end: Place, metersPerStep: Double = 10) -> [Place] {
        let steps = max(1, Int((start.distance(to: end) / max(1, metersPerStep)).rounded(.up)))
        return (0...min(steps, 100_000)).map { step in
            let part = Double(step) / Double(steps)
            return Place(
                latitude: start.latitude + (end.latitude - start.latitude) * part,
                longitude: start.longitude + (end.longitude - start.longitude) * part)
        }
    }
}
