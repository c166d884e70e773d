// What may be handed on from Redis to followers. A channel is no safer than a socket: whoever may write there can put
// anything into it. A message is read as a client would read it, whole and once for each loop, before the first follower gets
// its bytes; for a position, which comes a thousand times as often as the rest, in one pass and without an allocation.

/// Messages as our gateways and scripts publish them.
package enum RelayedMessage {
    /// Bytes of one, at most: ours are some hundred.
    package static let longest = 4_096

    /// Whether these bytes can be one at all.
    static func mayBe(_ bytes: UnsafeRawBufferPointer) -> Bool { bytes.count <= Self.longest && bytes.isUTF8 }
}

extension ServerMessage {
    /// A message as it was published; `nil` for anything else.
    package init?(ours bytes: UnsafeRawBufferPointer) {
        guard RelayedMessage.mayBe(bytes), let message = try? Self(bytes) else { return nil }
        self = message
    }
}

extension RiderChange {
    /// A change as it was published; `nil` for anything else.
    package init?(ours bytes: UnsafeRawBufferPointer) {
        guard RelayedMessage.mayBe(bytes), let change = try? Self(bytes) else { return nil }
        self = change
    }
}

extension PublishedLocation {
    /// The id of a location of this job, every byte of which a client can read; `nil` for anything else. Members that are
    /// not known, as a later version may write them, are passed over.
    package static func read(_ message: UnsafeRawBufferPointer, of job: JobID) -> UInt64? {
        let end = self.head.count + self.idDigits
        // An id has no more digits than are read of it.
        guard let id = self.id(of: message), message[end] == UInt8(ascii: "\""), RelayedMessage.mayBe(message) else {
            return nil
        }
        do throws(BadMessage) {
            try Self.check(message, job)
            return id
        } catch {
            return nil
        }
    }

    private static func check(_ message: UnsafeRawBufferPointer, _ job: JobID) throws(BadMessage) {
        var reader = JSONReader(message)
        var members = Members("location")
        var (latitude, longitude) = (Double?.none, Double?.none)
        var (isOfJob, isTimed) = (false, false)
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
                _ = try reader.integer()
            } else if name.equals("acc") || name.equals("spd") || name.equals("hdg") {
                _ = try reader.double()
            } else {
                try reader.value()
            }
        }
        try reader.end()
        guard isOfJob, isTimed, let latitude, let longitude, Coordinate(latitude: latitude, longitude: longitude) != nil
        else { throw BadMessage("the message is not a location of the job") }
    }
}
