import Foundation

@testable import Journeys

/// Creates a file with these bytes while `body` runs.
func withFile<Result>(_ name: String, _ bytes: Data, _ body: (String) throws -> Result) throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: name)
    try bytes.write(to: file)
    return try body(file.path)
}

func load(_ name: String, _ text: String, trip: String? = nil) throws -> Journey {
    try withFile(name, Data(text.utf8)) { try Journey.load(path: $0, trip: trip) }
}

extension Journey {
    var asGPX: String {
        let points = self.fixes.map { fix in
            let time = Date(timeIntervalSince1970: Double(fix.at) / 1000)
                .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
            return #"<trkpt lat="\#(fix.latitude)" lon="\#(fix.longitude)"><time>\#(time)</time></trkpt>"#
        }
        return """
            <?xml version="1.0"?>
            <gpx version="1.1" creator="test" xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>
            \(points.joined(separator: "\n"))
            </trkseg></trk></gpx>
            """
    }

    var asCSV: String {
        "unix_ms,lat,lon,speed_mps\n"
            + self.fixes.map { "\($0.at),\($0.latitude),\($0.longitude),\($0.speedMetersPerSecond ?? 0)" }
            .joined(separator: "\n")
    }

    var asNMEA: String {
        self.fixes.map { fix in
            let date = Date(timeIntervalSince1970: Double(fix.at) / 1000)
            let parts = Calendar.utc.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
            func two(_ value: Int?) -> String { String(format: "%02d", value! % 100) }
            func angle(_ degrees: Double, _ format: String) -> String {
                let whole = abs(degrees).rounded(.down)
                return String(format: format, Int(whole), (abs(degrees) - whole) * 60)
            }
            let body =
                "GNRMC,\(two(parts.hour))\(two(parts.minute))\(two(parts.second)).00,A,"
                + "\(angle(fix.latitude, "%02d%09.6f")),\(fix.latitude < 0 ? "S" : "N"),"
                + "\(angle(fix.longitude, "%03d%09.6f")),\(fix.longitude < 0 ? "W" : "E"),"
                + "10.0,90.0,\(two(parts.day))\(two(parts.month))\(two(parts.year)),,,A"
            return String(format: "$%@*%02X", body, Int(body.utf8.reduce(UInt8(0), ^)))
        }.joined(separator: "\r\n") + "\r\n"
    }
}

extension Calendar {
    fileprivate static var utc: Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }
}
