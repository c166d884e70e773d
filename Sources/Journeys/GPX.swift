// GPX 1.1 (and 1.0): the points of all tracks, in the order of the file.

internal import Foundation

#if canImport(FoundationXML)
    internal import FoundationXML
#endif

enum GPX {
    /// Track points with a time, whatever the prefix of their elements. `speed` and `course` are read if present, as in GPX 1.0
    /// or in extensions.
    static func fixes(_ data: Data) throws(JourneyError) -> [LocatedFix] {
        // Recordings need no document type declaration, and entities could expand without limit.
        guard data.range(of: Data("<!DOCTYPE".utf8)) == nil, data.range(of: Data("<!ENTITY".utf8)) == nil else {
            throw .malformed(line: 1, reason: "document type declarations are not accepted in GPX")
        }
        guard !data.isEmpty else { throw .empty }
        let parser = XMLParser(data: data)
        parser.shouldResolveExternalEntities = false
        let points = TrackPoints()
        parser.delegate = points
        let isWhole = parser.parse()
        if let failure = points.failure { throw failure }
        guard isWhole else {
            throw .malformed(line: parser.lineNumber, reason: self.reason(parser.parserError))
        }
        return points.fixes
    }

    /// Why a file is not well-formed XML, by libxml2's error.
    fileprivate static func reason(_ error: (any Error)?) -> String {
        guard let code = error.map({ ($0 as NSError).code }) else { return "the file is not well-formed XML" }
        return self.codesOfTruncation.contains(code)
            ? "the file is truncated. Export or copy it again"
            : "the file is not well-formed XML (libxml2 error \(code))"
    }

    /// `XML_ERR_DOCUMENT_END` and `XML_ERR_TAG_NOT_FINISHED`.
    private static let codesOfTruncation = [5, 77]

    fileprivate static func reason(ofTime text: String) -> String {
        self.time(text.trimmingCharacters(in: .whitespacesAndNewlines) + "Z") == nil
            ? "the time is not ISO 8601, such as 2026-01-31T12:00:00Z"
            : "the time has no time zone. Times in GPX are UTC and end in Z"
    }

    static func time(_ text: String) -> Int64? {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        let whole = Date.ISO8601FormatStyle()
        let date =
            (try? whole.parse(text)) ?? (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text))
        return date.map { Int64(($0.timeIntervalSince1970 * 1000).rounded()) }
    }
}

/// Collects track points while the parser reads the file.
private final class TrackPoints: NSObject, XMLParserDelegate {
    private(set) var fixes: [LocatedFix] = []
    private(set) var failure: JourneyError?
    private var point: (latitude: Double, longitude: Double, line: Int)?
    /// The depth of open elements in the point. Those at depth 1 are its own; extensions contain others, also named `time`.
    private var depth = 0
    private var time: Int64?
    private var speed: Double?
    private var course: Double?
    private var text = ""

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        self.text = ""
        guard self.point == nil else {
            self.depth += 1
            return
        }
        guard Self.localName(name) == "trkpt" else { return }
        guard let latitude = attributes["lat"].flatMap(Double.init),
            let longitude = attributes["lon"].flatMap(Double.init),
            latitude.isFinite, longitude.isFinite
        else {
            return self.fail(parser, .malformed(line: parser.lineNumber, reason: "trkpt needs lat and lon in degrees"))
        }
        (self.point, self.depth) = ((latitude, longitude, parser.lineNumber), 0)
        (self.time, self.speed, self.course) = (nil, nil, nil)
    }

    /// Called before the parser closes open elements, so the first failure is the actual one.
    func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) {
        self.fail(
            parser,
            .malformed(line: parser.lineNumber, reason: GPX.reason(error)))
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) { self.text += string }

    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
        guard let point else { return }
        defer { self.depth -= 1 }
        switch Self.localName(name) {
        case "time" where self.depth == 1:
            guard let time = GPX.time(self.text) else {
                return self.fail(parser, .malformed(line: parser.lineNumber, reason: GPX.reason(ofTime: self.text)))
            }
            self.time = time
        case "speed": self.speed = Double(self.text.trimmingCharacters(in: .whitespacesAndNewlines))
        case "course": self.course = Double(self.text.trimmingCharacters(in: .whitespacesAndNewlines))
        case "trkpt" where self.depth == 0:
            guard let time else { return self.fail(parser, .missingTime(line: point.line)) }
            self.fixes.append(
                LocatedFix(
                    fix: Fix(
                        at: time, latitude: point.latitude, longitude: point.longitude,
                        speedMetersPerSecond: self.speed,
                        headingDegrees: self.course), line: point.line))
            self.point = nil
        default: break
        }
    }

    /// A name without its prefix, so that `g:trkpt` also counts as a point.
    private static func localName(_ name: String) -> Substring? { name.split(separator: ":").last }

    private func fail(_ parser: XMLParser, _ failure: JourneyError) {
        if self.failure == nil { self.failure = failure }
        parser.abortParsing()
    }
}
