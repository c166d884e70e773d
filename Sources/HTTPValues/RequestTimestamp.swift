// A point in time in the body of a REST request. Enroute writes milliseconds since the Unix epoch; RFC 3339 strings are
// accepted too, because many systems write those.

internal import EnrouteWire

/// A point in time in milliseconds since the Unix epoch. A decoding error describes the expected format.
package struct RequestTimestamp: Hashable, Sendable, Decodable {
    package let milliseconds: Int64

    /// - Returns: `nil` outside September 2001 to November 2286 (`Fix.times`), which catches times in seconds.
    package init?(milliseconds: Int64) {
        guard Fix.times.contains(milliseconds) else { return nil }
        self.milliseconds = milliseconds
    }

    package init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        let timestamp =
            if let number = try? value.decode(Int64.self) {
                RequestTimestamp(milliseconds: number)
            } else if let text = try? value.decode(String.self) {
                RequestTimestamp(rfc3339: text)
            } else {
                RequestTimestamp?.none
            }
        guard let timestamp else {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription:
                        "must be a time from 2001-09-10 to 2286: milliseconds since the Unix epoch, or RFC 3339 such as "
                        + "2026-11-21T17:45:00.250Z"
                ))
        }
        self = timestamp
    }
}

extension RequestTimestamp {
    /// Parses an RFC 3339 time, with a `T` or a space between date and time.
    package init?(rfc3339 text: String) {
        guard let milliseconds = Timestamp.milliseconds(text, allowsSpace: true) else { return nil }
        self.init(milliseconds: milliseconds)
    }
}
