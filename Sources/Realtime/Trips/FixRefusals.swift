// The answer to a rider whose fix was refused: a code for the client to act on, the reason as it is counted, and a
// message for the client's developer.

package import EnrouteWire
internal import Jobs
internal import Telemetry
internal import Tracking

extension FixRefusal {
    package var code: ErrorCode {
        switch self {
        case .outOfRange, .zeroZero: .badRequest
        case .future: .futurePosition
        case .stale, .outOfOrder, .duplicate: .stalePosition
        case .inaccurate, .implausibleSpeed, .clock, .mocked: .implausiblePosition
        case .travelModeOff: .travelModeOff
        case .otherDevice: .otherDevice
        }
    }

    /// The code for REST, where the body is well-formed JSON with invalid values.
    package var requestCode: ErrorCode { self.code == .badRequest ? .unprocessable : self.code }

    package var message: String {
        switch self {
        case .outOfRange, .zeroZero:
            "Invalid coordinates: lat must be -90 to 90 and lon -180 to 180 degrees, and not both 0."
        case .future: "The fix is dated in the future. Check the phone's clock."
        case .stale: "The fix is more than 60 s old. Send newer fixes, or check the phone's clock."
        case .outOfOrder, .duplicate: "A fix with the same or a later time was already accepted."
        case .inaccurate: "The fix is too inaccurate. Wait for a better one."
        case .implausibleSpeed: "Implausible speed: a held position was discarded."
        case .travelModeOff: "Travel mode is off for this job. Switch it on first."
        case .otherDevice: Refused.otherDevice.message
        case .mocked:
            "The phone reported that an app provides a fake location. Close that app, or switch mock locations off in "
                + "the developer options."
        case .clock:
            "The phone's clock is wrong by more than \(ClockSkew.furthest / 60_000) minutes. Set it automatically."
        }
    }
}

extension ClockSkew {
    /// The notice for a rider whose clock is corrected.
    package static func notice(ofCorrection milliseconds: Int64) -> String {
        let direction = milliseconds > 0 ? "behind" : "ahead"
        return
            "The phone's clock is \(abs(milliseconds) / 1000) s \(direction). Positions are shown with corrected times; "
            + "set the clock automatically."
    }
}

extension FixVerdictName {
    var metric: Metric {
        switch self {
        case .accepted: .fixesAccepted
        case .held: .fixesHeld
        case .refused(.outOfRange): .fixesOutOfRange
        case .refused(.zeroZero): .fixesZeroZero
        case .refused(.future): .fixesFuture
        case .refused(.stale): .fixesStale
        case .refused(.outOfOrder): .fixesOutOfOrder
        case .refused(.duplicate): .fixesDuplicate
        case .refused(.inaccurate): .fixesInaccurate
        case .refused(.implausibleSpeed): .fixesImplausible
        case .refused(.travelModeOff): .fixesWithoutTravel
        case .refused(.clock): .fixesWrongClock
        case .refused(.otherDevice): .fixesOfOtherDevice
        case .refused(.mocked): .fixesMocked
        }
    }
}
