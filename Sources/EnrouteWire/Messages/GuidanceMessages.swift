// The messages `rate`, `proximity` and `unavailable`, which are derived from a rider's locations or from their absence.

extension ServerMessage {
    /// Explains why there is no location. Customers and other riders receive only the key of the text, not the reason.
    public static func unavailable(job: JobID, _ reason: UnavailableReason, tellsReason: Bool) -> ServerMessage {
        .unavailable(job: job, TrackingTextKey(reason), tellsReason ? reason : nil)
    }

    /// Reads the message; `nil` for another type.
    static func guidance(_ type: String, from bytes: UnsafeRawBufferPointer) throws(BadMessage) -> ServerMessage? {
        guard ["rate", "proximity", "unavailable"].contains(type) else { return nil }
        let members = Members("the message")
        var reader = JSONReader(bytes)
        var (job, interval, text) = (JobID?.none, Double?.none, TrackingTextKey?.none)
        var (state, reason) = (ProximityState?.none, UnavailableReason?.none)
        try reader.object { (name, reader) throws(BadMessage) in
            switch String(decoding: name, as: UTF8.self) {
            case "job": job = try reader.identifier("job")
            case "intervalSeconds": interval = try reader.double()
            case "text": text = TrackingTextKey(rawValue: try reader.string())
            case "state": state = ProximityState(rawValue: try reader.string())
            case "reason": reason = UnavailableReason(rawValue: try reader.string())
            default: try reader.value()
            }
        }
        switch type {
        case "rate": return .rate(seconds: try members.required(interval, "intervalSeconds"))
        case "proximity":
            return .proximity(job: try members.required(job, "job"), try members.required(state, "state"))
        default: return .unavailable(job: try members.required(job, "job"), try members.required(text, "text"), reason)
        }
    }

    /// The same as a gateway sends it.
    var guidance: [UInt8] {
        switch self {
        case .rate(let seconds): JSONWriter.message("rate") { $0.field("intervalSeconds", seconds, decimals: 1) }
        case .proximity(let job, let state):
            JSONWriter.message("proximity") { writer in
                writer.field("job", job.text)
                writer.field("state", state.rawValue)
            }
        case .unavailable(let job, let text, let reason):
            JSONWriter.message("unavailable") { writer in
                writer.field("job", job.text)
                writer.field("text", text.rawValue)
                writer.field("reason", reason?.rawValue)
            }
        default: preconditionFailure("no guidance")
        }
    }
}
