// Publishes like riders: each location is sent over its rider's own connection.

internal import Glibc

final class CrowdPublisher: Publisher {
    private let riders: Crowd
    private var templates: [MessageTemplate]
    private let opcode: UInt8
    private let journey: Journey?

    /// - Parameters:
    ///   - riders: connected; the `k`th sends the `k`th report.
    ///   - reports: with the marks of `MessageTemplate`.
    ///   - journey: how the riders move; by default they do not.
    init(_ riders: Crowd, reports: [String], journey: Journey? = nil) {
        (self.riders, self.journey) = (riders, journey)
        self.templates = reports.map { MessageTemplate($0) }
        self.opcode = riders.target.isBinary ? IncomingFrame.binary : IncomingFrame.text
    }

    /// A location in Enroute's protocol, for up to ten jobs of one trip.
    static func report(of jobs: [String], latitude: String = MessageTemplate.placeMark) -> String {
        let named = jobs.map { "\"\($0)\"" }.joined(separator: ",")
        let member = jobs.count == 1 ? "\"job\":\(named)" : "\"jobs\":[\(named)]"
        return
            #"{"type":"location",\#(member),"seq":\#(MessageTemplate.idMark),"fixes":[{"at":\#(MessageTemplate.atMark),"#
            + #""lat":41.\#(latitude),"lon":12.4963655,"acc":5,"spd":8.25,"hdg":47.5}]}"#
    }

    let isReady = true
    let unconfirmed = 0
    /// Refusals arrive as messages on the riders' connections; a lost connection ends the run.
    var failure: String? {
        let lost = self.riders.count - self.riders.following
        return lost == 0 ? nil : "\(lost) riders lost their connection"
    }

    func publish(channel: Int, id: UInt64, at: Int64) {
        self.templates[channel].set(id: id, at: at)
        if let journey { self.templates[channel].set(place: journey.decimals(at: at)) }
        let frame = self.templates[channel].bytes.withUnsafeBytes { OutgoingFrame.make(self.opcode, $0) }
        self.riders.send(frame, from: channel)
    }

    func flush() {}
    func close() { self.riders.close() }
}

/// Riders drive at 8.25 m/s, north for a quarter of an hour and back, some 20 km from the destination: none of the fixes is
/// implausible, and nobody arrives.
struct Journey {
    /// ms; there and back.
    private static let period: Int64 = 1_800_000
    /// Of a latitude, in units of 0.0000001 degrees, a ms: 8.25 m/s.
    private static let decimalsPerMs = 0.741

    func decimals(at time: Int64) -> UInt64 {
        let phase = time % Self.period
        return 6_000_000 + UInt64(Double(min(phase, Self.period - phase)) * Self.decimalsPerMs)
    }
}
