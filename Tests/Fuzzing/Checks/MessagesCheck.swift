// The codec of EnrouteWire: an input is a message, a JSON value, a number and a name at the same time. The codec never crashes,
// a decoded message survives another round trip, and JSON means what Foundation and the standard library say, apart from
// JSONReader's documented restrictions.

@testable import EnrouteWire
import Foundation

enum MessagesCheck {
    static func run(_ input: [UInt8]) throws(Disagreement) {
        let client = Self.client(input)
        let server = Self.server(input)
        _ = input.withUnsafeBytes { MessageOutline($0) }
        if let fix = input.withUnsafeBytes({ PublishedLocation.fix(of: $0) }) {
            guard case .success(.location(let location)) = server, location.fix == fix else {
                throw Disagreement("the fix of \(self.text(input)) is read differently in one pass")
            }
        }
        // Elsewhere, bytes that are not UTF-8 are rejected before decoding; here they only must not crash.
        guard String(validating: input, as: UTF8.self) != nil else { return }
        if case .success(let message) = client { try self.returns(message) }
        if let report = input.withUnsafeBytes({ LocationReport(compact: $0) }) {
            try require(
                (try? client.get()) == .location(report), "\(self.text(input)) is read differently in one pass")
        }
        if case .success(let message) = server { try self.returns(message) }
        try JSONCheck.run(input, client)
        try self.identifiers(input)
        if let place = input.withUnsafeBytes({ try? Coordinate(json: $0) }) {
            let again = place.json.withUnsafeBytes { try? Coordinate(json: $0) }
            try require(
                again.map { self.isNear($0, place) } == true, "\(self.text(place.json)) is not the same place")
        }
    }

    static func client(_ bytes: [UInt8]) -> Result<ClientMessage, BadMessage> {
        bytes.withUnsafeBytes { bytes in
            do throws(BadMessage) { return .success(try ClientMessage(bytes)) } catch { return .failure(error) }
        }
    }

    static func server(_ bytes: [UInt8]) -> Result<ServerMessage, BadMessage> {
        bytes.withUnsafeBytes { bytes in
            do throws(BadMessage) { return .success(try ServerMessage(bytes)) } catch { return .failure(error) }
        }
    }

    static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    // MARK: Round trips

    /// Places, radii, speeds and headings are written with a few decimals, so the first round trip is approximate and the
    /// second exact; everything else is exact.
    private static func returns(_ message: ClientMessage) throws(Disagreement) {
        let written = message.encoded
        guard case .success(let again) = self.client(written) else {
            throw Disagreement("\(self.text(written)) was encoded but is rejected: \(self.client(written))")
        }
        try require(again.encoded == written, "\(self.text(written)) is encoded differently the second time")
        switch (message, again) {
        case (.location(let before), .location(let after)):
            try require(
                before.job == after.job && before.sequence == after.sequence && before.fixes.count == after.fixes.count
                    && before.invalidFixes == after.invalidFixes
                    && zip(before.fixes, after.fixes).allSatisfy(self.isNear),
                "\(self.text(written)) is not the same report")
        default: try require(again == message, "\(self.text(written)) is not the same message")
        }
    }

    private static func returns(_ message: ServerMessage) throws(Disagreement) {
        if case .location(let location) = message { return try self.returns(location) }
        let written = message.encoded
        guard case .success(let again) = self.server(written) else {
            throw Disagreement("\(self.text(written)) was encoded but is rejected: \(self.server(written))")
        }
        try require(again.encoded == written, "\(self.text(written)) is encoded differently the second time")
        try require(
            self.withoutPlace(again) == self.withoutPlace(message), "\(self.text(written)) is not the same message")
        guard case .subscribed(_, let snapshot) = message, case .subscribed(_, let returned) = again else { return }
        try require(snapshot.location == returned.location, "\(self.text(written)) has another position")
        let places = (snapshot.destination, returned.destination)
        guard let before = places.0, let after = places.1 else {
            return try require(places.0 == nil && places.1 == nil, "\(self.text(written)) has lost its destination")
        }
        try require(self.isNear(before, after), "\(self.text(written)) has another destination")
    }

    private static func withoutPlace(_ message: ServerMessage) -> ServerMessage {
        switch message {
        case .subscribed(let job, var snapshot):
            snapshot.destination = nil
            return .subscribed(job: job, snapshot)
        case .reset(let job, var snapshot):
            snapshot.destination = nil
            return .reset(job: job, snapshot)
        default: return message
        }
    }

    /// A location is written in two halves: the tail by the gateway, everything before it by publish_location.lua.
    private static func returns(_ location: Location) throws(Disagreement) {
        let tail = PublishedLocation.tail(of: location.fix, job: location.job, receivedAt: location.receivedAt)
        try require(location.id < 10_000_000_000_000_000, "an id of 16 digits was parsed as \(location.id)")
        let written = ServerMessage.location(location).encoded
        try require(written.suffix(tail.count) == tail[...], "\(self.text(written)) does not end with its tail")
        guard case .success(.location(let again)) = self.server(written) else {
            throw Disagreement("\(self.text(written)) was encoded but is rejected: \(self.server(written))")
        }
        try require(
            again.id == location.id && again.job == location.job && again.receivedAt == location.receivedAt
                && self.isNear(again.fix, location.fix), "\(self.text(written)) is not the same location")
        try require(
            PublishedLocation.tail(of: again.fix, job: again.job, receivedAt: again.receivedAt) == tail,
            "\(self.text(written)) is encoded differently the second time")
        try require(
            written.withUnsafeBytes { PublishedLocation.id(of: $0) } == location.id,
            "\(self.text(written)) has another id")
    }

    private static func isNear(_ one: Fix, _ other: Fix) -> Bool {
        one.at == other.at && self.isNear(one.place, other.place)
            && self.isNear(one.accuracyMeters, other.accuracyMeters, 0.05)
            && self.isNear(one.speedMetersPerSecond, other.speedMetersPerSecond, 0.005)
            && self.isNear(one.headingDegrees, other.headingDegrees, 0.05)
    }

    private static func isNear(_ one: Coordinate, _ other: Coordinate) -> Bool {
        self.isNear(one.latitude, other.latitude, 0.5e-7) && self.isNear(one.longitude, other.longitude, 0.5e-7)
    }

    /// - Parameter half: half of the last written decimal.
    private static func isNear(_ one: Double?, _ other: Double?, _ half: Double) -> Bool {
        guard let one, let other else { return one == nil && other == nil }
        return abs(one - other) <= half * 1.000_001
    }

    // MARK: Names

    private static func identifiers(_ input: [UInt8]) throws(Disagreement) {
        let text = self.text(input)
        let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-".utf8)
        let isName = (1...64).contains(input.count) && input.allSatisfy(allowed.contains)
        try require((JobID(text) != nil) == isName, "as a name \(text) is \(isName ? "rejected" : "accepted")")
        let ofBytes = input.withUnsafeBytes { JobID(bytes: $0) }
        try require(ofBytes == JobID(text), "\(text) is a name as text or as bytes, not both")
        try require(ofBytes.map { $0.text == text } ?? true, "\(text) is a different name")

        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        let isID =
            parts.count == 2
            && parts.allSatisfy { $0.allSatisfy { (48...57).contains($0) } && UInt64(String($0) ?? "") != nil }
        let id = StatusID(text)
        try require((id != nil) == isID, "as a status id \(text) is \(isID ? "rejected" : "accepted")")
        guard let id else { return }
        try require(StatusID(id.description) == id, "\(text) is written as \(id)")
        if let next = StatusID("\(id.milliseconds)-\(id.sequence &+ 1)") {
            try require((id < next) == (id.sequence < .max), "\(id) is not before \(next)")
        }
    }
}
