// What a rider is told of a reading that nobody is shown: the code for its client to act on, the reason as it is
// counted, and a sentence for who builds the client.

package import EnrouteWire
internal import Telemetry
internal import Tracking

extension FixRefusal {
    package var code: ErrorCode {
        switch self {
        case .outOfRange, .zeroZero: .badRequest
        case .future: .futurePosition
        case .stale, .outOfOrder, .duplicate: .stalePosition
        case .inaccurate, .implausibleSpeed: .implausiblePosition
        case .travelModeOff: .travelModeOff
        }
    }

    /// The same where a request holds it: its JSON can be read, and says what can not be.
    package var requestCode: ErrorCode { self.code == .badRequest ? .unprocessable : self.code }

    package var sentence: String {
        switch self {
        case .outOfRange, .zeroZero: "That is no place: lat is -90 to 90, lon -180 to 180 degrees, not both 0."
        case .future: "The position's time is in the future: check the phone's clock."
        case .stale: "It was captured over 60 s ago: send newer ones, or check the clock."
        case .outOfOrder, .duplicate: "A position that is as new or newer is known already."
        case .inaccurate: "Its accuracy says too little about where it is: wait for a better one."
        case .implausibleSpeed: "Nobody gets there that fast: a position that was held is not believed."
        case .travelModeOff: "Travel mode is off for this job: switch it on first."
        }
    }
}

extension FixVerdictName {
    package var metric: Metric {
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
        }
    }
}
