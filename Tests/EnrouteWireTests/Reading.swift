// Helpers that decode a text.

@testable import EnrouteWire

func clientMessage(_ json: String) throws -> ClientMessage {
    try Array(json.utf8).withUnsafeBytes { try ClientMessage($0) }
}

func serverMessage(_ json: String) throws -> ServerMessage {
    try Array(json.utf8).withUnsafeBytes { try ServerMessage($0) }
}

/// Reads one value with `body`. Throws if data follows it.
func read<Value>(_ json: String, _ body: (inout JSONReader) throws -> Value) throws -> Value {
    try Array(json.utf8).withUnsafeBytes { bytes in
        var reader = JSONReader(bytes)
        let value = try body(&reader)
        try reader.end()
        return value
    }
}

/// The reason of a refusal, or `nil`.
func refusal(_ body: () throws -> Void) -> String? {
    do {
        try body()
        return nil
    } catch {
        return "\(error)"
    }
}

extension Coordinate {
    /// A coordinate with digits that tests can search for.
    static let somewhere = Coordinate(latitude: 52.5201234, longitude: 13.4049876)!
}

extension JobID { static let job7 = JobID("job-7")! }
