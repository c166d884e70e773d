// Checks messages from Redis before they are sent to followers. A channel is no more trustworthy than a socket:
// everybody with permission to publish there can send anything. Each message is parsed completely, as a client would,
// once on each loop, before the first follower receives its bytes. Locations are a thousand times as frequent as other
// messages, so they are checked in one pass and without allocation.

/// Messages as Enroute's gateways and scripts publish them.
package enum RelayedMessage {
    /// The maximum length of a message. Enroute's messages have a few hundred bytes.
    package static let longest = 4_096

    /// Whether these bytes are short enough to be a message.
    static func mayBe(_ bytes: UnsafeRawBufferPointer) -> Bool { bytes.count <= Self.longest && bytes.isUTF8 }
}

extension ServerMessage {
    /// Returns the published message; `nil` for anything else.
    package init?(ours bytes: UnsafeRawBufferPointer) {
        guard RelayedMessage.mayBe(bytes), let message = try? Self(bytes) else { return nil }
        self = message
    }
}

extension RiderChange {
    /// Returns the published change; `nil` for anything else.
    package init?(ours bytes: UnsafeRawBufferPointer) {
        guard RelayedMessage.mayBe(bytes), let change = try? Self(bytes) else { return nil }
        self = change
    }
}

extension PublishedLocation {
    /// The values that a gateway reads from a location before it relays the bytes.
    package struct Stamp: Hashable, Sendable {
        package var id: UInt64
        /// When the rider's gateway received the fix, ms since the epoch by its clock; 0 if the message does not contain it.
        package var receivedAt: Int64
    }

    /// Returns id and time of a valid location message of this job; `nil` for anything else. Unknown members, which a
    /// later version may add, are ignored.
    package static func read(_ message: UnsafeRawBufferPointer, of job: JobID) -> Stamp? {
        self.stamp(compact: message, of: job) ?? self.stamp(general: message, of: job)
    }

    /// Reads a location in any valid form.
    static func stamp(general message: UnsafeRawBufferPointer, of job: JobID) -> Stamp? {
        let end = self.head.count + self.idDigits
        // If the id has more digits than `id(of:)` reads, it is invalid.
        guard let id = self.id(of: message), message[end] == UInt8(ascii: "\""), RelayedMessage.mayBe(message) else {
            return nil
        }
        do throws(BadMessage) {
            return Stamp(id: id, receivedAt: try Self.check(message, job))
        } catch {
            return nil
        }
    }

    /// - Returns: when the location was received, or 0.
    private static func check(_ message: UnsafeRawBufferPointer, _ job: JobID) throws(BadMessage) -> Int64 {
        var reader = JSONReader(message)
        var members = Members("location")
        var (latitude, longitude) = (Double?.none, Double?.none)
        var (isOfJob, isTimed) = (false, false)
        var receivedAt: Int64 = 0
        try reader.object { (name, reader) throws(BadMessage) in
            if name.equals("lat") {
                try members.once(0)
                latitude = try reader.double()
            } else if name.equals("lon") {
                try members.once(1)
                longitude = try reader.double()
            } else if name.equals("job") {
                try members.once(2)
                isOfJob = try reader.isString(job.text)
            } else if name.equals("at") {
                try members.once(3)
                isTimed = Fix.times.contains(try reader.integer())
            } else if name.equals("type") {
                try members.once(4)
                try reader.value()
            } else if name.equals("id") {
                try members.once(5)
                try reader.value()
            } else if name.equals("received") {
                try members.once(6)
                receivedAt = try reader.integer()
            } else if name.equals("acc") || name.equals("spd") || name.equals("hdg") {
                _ = try reader.double()
            } else {
                try reader.value()
            }
        }
        try reader.end()
        guard isOfJob, isTimed, let latitude, let longitude, Coordinate(latitude: latitude, longitude: longitude) != nil
        else { throw BadMessage("the message is not a location of the job") }
        return Fix.times.contains(receivedAt) ? receivedAt : 0
    }
}
