// A time as it stands in a body of REST: ms since the epoch, or a text of RFC 3339, which other systems write.

internal import EnrouteWire

/// A moment, in ms since the epoch. Decoding fails with the reason.
package struct Moment: Hashable, Sendable, Decodable {
    package let milliseconds: Int64

    /// September 2001 to November 2286, as everywhere (`Fix.times`).
    package init?(milliseconds: Int64) {
        guard Fix.times.contains(milliseconds) else { return nil }
        self.milliseconds = milliseconds
    }

    package init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        let moment =
            if let number = try? value.decode(Int64.self) {
                Moment(milliseconds: number)
            } else if let text = try? value.decode(String.self) {
                Moment(rfc3339: text)
            } else {
                Moment?.none
            }
        guard let moment else {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription:
                        "must be a time: milliseconds since the Unix epoch, or RFC 3339 such as 2026-11-21T17:45:00.250Z"
                ))
        }
        self = moment
    }
}

extension Moment {
    /// A time of RFC 3339, with a `T` or a space.
    package init?(rfc3339 text: String) {
        guard let milliseconds = Timestamp.milliseconds(text, allowsSpace: true) else { return nil }
        self.init(milliseconds: milliseconds)
    }
}
