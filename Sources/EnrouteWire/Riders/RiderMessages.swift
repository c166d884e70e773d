// The messages `availability`, `presence` and `unavailable` of a rider.

extension ClientMessage {
    /// - Parameter type: `availability`, `presence` or `unavailable`.
    static func riderMessage(_ type: String, from reader: inout JSONReader) throws(BadMessage) -> Self {
        var members = Members("the message")
        var (status, device) = (Availability?.none, DeviceID?.none)
        var (job, reason) = (JobID?.none, UnavailableReason?.none)
        var (latitude, longitude) = (Double?.none, Double?.none)
        try reader.object { (name, reader) throws(BadMessage) in
            if name.equals("status") {
                try members.once(0)
                status = Availability(rawValue: try reader.string())
            } else if name.equals("device") {
                try members.once(1)
                device = try reader.identifier("device")
            } else if name.equals("job") {
                try members.once(4)
                job = try reader.identifier("job")
            } else if name.equals("reason") {
                try members.once(5)
                reason = UnavailableReason(rawValue: try reader.string())
            } else if name.equals("lat") {
                try members.once(2)
                latitude = try reader.double()
            } else if name.equals("lon") {
                try members.once(3)
                longitude = try reader.double()
            } else {
                try reader.value()
            }
        }
        if type == "unavailable" {
            guard let reason else {
                throw BadMessage(
                    "unavailable needs reason: \(UnavailableReason.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            return .unavailable(job: job, reason)
        }
        guard type == "presence" else {
            guard let status else { throw BadMessage("availability needs status: online or offline") }
            return .availability(status, device: device)
        }
        guard latitude != nil || longitude != nil else { return .presence(nil, device: device) }
        guard let latitude, let longitude, let place = Coordinate(latitude: latitude, longitude: longitude) else {
            throw BadMessage("lat must be -90 to 90 and lon -180 to 180 degrees, both or none, and not both 0")
        }
        return .presence(place, device: device)
    }

    /// The message as a rider's phone sends it.
    var riderMessage: [UInt8] {
        switch self {
        case .availability(let status, let device):
            JSONWriter.message("availability") { writer in
                writer.field("status", status.rawValue)
                writer.field("device", device?.text)
            }
        case .presence(let place, let device):
            JSONWriter.message("presence") { writer in
                if let place {
                    writer.field("lat", place.latitude, decimals: 7)
                    writer.field("lon", place.longitude, decimals: 7)
                }
                writer.field("device", device?.text)
            }
        case .unavailable(let job, let reason):
            JSONWriter.message("unavailable") { writer in
                writer.field("job", job?.text)
                writer.field("reason", reason.rawValue)
            }
        default: preconditionFailure("\(self.type) is not a rider message")
        }
    }
}
