// Comma-separated values (RFC 4180) with a header line: the names of the columns determine their meaning.

internal import Foundation

enum CSV {
    /// Accepted column names for each kind of value.
    private static let names: [String: [String]] = [
        "time": ["unix_ms", "unix_s", "time", "timestamp"], "latitude": ["lat", "latitude"],
        "longitude": ["lon", "lng", "longitude"], "accuracy": ["accuracy_m", "accuracy", "acc"],
        "speed": ["speed_mps", "speed", "spd"],
        "heading": ["heading_deg", "heading", "hdg", "bearing", "course"], "trip": ["trip_id", "trip"],
    ]

    /// - Parameter trip: value of the trip column; `nil` for the first trip in the file.
    static func fixes(_ data: Data, trip: String?) throws(JourneyError) -> [LocatedFix] {
        var wanted = trip
        let found = try self.trips(data) { name in
            if wanted == nil { wanted = name }
            return name == wanted
        }
        if let trip, found.first?.name != trip { throw .noSuchTrip(trip) }
        return found.first?.fixes ?? []
    }

    /// The trips of a file in the order of their first lines. A file without a trip column has one trip without a name.
    ///
    /// - Parameter isWanted: whether to read a trip. The lines of others are not parsed.
    static func trips(
        _ data: Data, where isWanted: (String) -> Bool = { _ in true }
    ) throws(JourneyError) -> [(name: String?, fixes: [LocatedFix])] {
        let lines = try RecordingFile.lines(data).filter { !$0.text.isEmpty }
        guard let header = lines.first else { throw .empty }
        let titles = try self.fields(header.text, header.number).map { $0.lowercased() }
        func column(_ what: String) -> Int? { self.names[what]?.lazy.compactMap { titles.firstIndex(of: $0) }.first }
        guard let time = column("time"), let latitude = column("latitude"), let longitude = column("longitude") else {
            throw .malformed(
                line: header.number,
                reason: "the header must name a time, a latitude and a longitude, such as unix_ms,lat,lon")
        }
        let (accuracy, speed, heading) = (column("accuracy"), column("speed"), column("heading"))
        let tripColumn = column("trip")
        var trips: [(name: String?, fixes: [LocatedFix])] = []
        var indices: [String: Int] = [:]
        for line in lines.dropFirst() {
            let fields = try self.fields(line.text, line.number)
            guard fields.count == titles.count else {
                throw .malformed(
                    line: line.number, reason: "the line has \(fields.count) fields, but the header has \(titles.count)"
                )
            }
            let name = tripColumn.map { fields[$0] }
            if let name, !isWanted(name) { continue }
            let index = indices[name ?? "", default: trips.count]
            if index == trips.count {
                indices[name ?? ""] = index
                trips.append((name, []))
            }
            func number(_ column: Int?) throws(JourneyError) -> Double? {
                guard let column, !fields[column].isEmpty else { return nil }
                guard let value = Double(fields[column]), value.isFinite else {
                    throw .malformed(line: line.number, reason: "\(titles[column]) is not a number")
                }
                return value
            }
            guard let latitude = try number(latitude), let longitude = try number(longitude) else {
                throw .malformed(line: line.number, reason: "latitude or longitude is missing")
            }
            trips[index].fixes.append(
                LocatedFix(
                    fix: Fix(
                        at: try self.time(fields[time], titles[time], line.number), latitude: latitude,
                        longitude: longitude, accuracyMeters: try number(accuracy),
                        speedMetersPerSecond: try number(speed), headingDegrees: try number(heading)),
                    line: line.number))
        }
        return trips
    }

    /// Parses milliseconds, seconds or ISO 8601: by the column's name or, if that is ambiguous, by the size of the number.
    private static func time(_ text: String, _ title: String, _ line: Int) throws(JourneyError) -> Int64 {
        guard !text.isEmpty else { throw .missingTime(line: line) }
        if let value = Double(text), value.isFinite, abs(value) < 1e15 {
            let isMilliseconds = title == "unix_ms" || (title != "unix_s" && value > 1e11)
            return Int64((isMilliseconds ? value : value * 1000).rounded())
        }
        guard let time = GPX.time(text) else {
            throw .malformed(line: line, reason: "\(title) is neither a time since the epoch nor ISO 8601")
        }
        return time
    }

    /// The fields of one line. A quoted field may contain commas and doubled quotes.
    private static func fields(_ line: String, _ number: Int) throws(JourneyError) -> [String] {
        var fields: [String] = []
        var field = ""
        var isQuoted = false
        var characters = line.makeIterator()
        var next = characters.next()
        while let character = next {
            next = characters.next()
            switch character {
            case "\"" where isQuoted && next == "\"":
                field.append("\"")
                next = characters.next()
            case "\"": isQuoted.toggle()
            case "," where !isQuoted:
                fields.append(field.trimmingCharacters(in: .whitespaces))
                field = ""
            default: field.append(character)
            }
        }
        guard !isQuoted else { throw .malformed(line: number, reason: "a quoted field is not closed") }
        return fields + [field.trimmingCharacters(in: .whitespaces)]
    }
}
