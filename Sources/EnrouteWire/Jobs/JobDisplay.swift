// What the order system adds to a job for people and for programs: `display` is shown to everyone who follows the job,
// `metadata` only to services and operations staff. Enroute interprets neither.

/// A period, ms since the epoch.
public struct TimeWindow: Hashable, Sendable {
    public var from: Int64
    public var until: Int64

    /// - Returns: `nil` unless both are times of 13 digits and `from` is before `until`.
    public init?(from: Int64, until: Int64) {
        guard Self.times.contains(from), Self.times.contains(until), from < until else { return nil }
        (self.from, self.until) = (from, until)
    }

    private static let times: ClosedRange<Int64> = 1_000_000_000_000...9_999_999_999_999
}

/// Details of a job that its followers see. All members are optional.
public struct JobDisplay: Hashable, Sendable {
    /// The number that the customer knows, at most `longestNumber` characters.
    public var orderNumber: String?
    /// At most `maxItems`, each of at most `longestItem` characters.
    public var items: [String]
    /// At most `longestNote` characters; may have several lines.
    public var note: String?
    /// When the customer was promised the delivery or visit.
    public var window: TimeWindow?
    /// The vehicle for this job, instead of the one on the rider's card.
    public var vehicle: Vehicle?

    public static let longestNumber = 64
    public static let maxItems = 20
    public static let longestItem = 100
    public static let longestNote = 500

    public init(
        orderNumber: String? = nil, items: [String] = [], note: String? = nil, window: TimeWindow? = nil,
        vehicle: Vehicle? = nil
    ) {
        (self.orderNumber, self.items, self.note, self.window) = (orderNumber, items, note, window)
        self.vehicle = vehicle
    }

    public var isEmpty: Bool { self == JobDisplay() }

    /// `{"orderNumber": …, "items": […], "note": …, "window": {"from": …, "until": …}, "vehicle": …}`, each only if it is
    /// known.
    public var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { self.write(into: &$0) }
        return writer.bytes
    }

    func write(into writer: inout JSONWriter) {
        writer.field("orderNumber", self.orderNumber)
        if !self.items.isEmpty { writer.texts("items", self.items) }
        writer.field("note", self.note)
        if let window {
            writer.object("window") { writer in
                writer.field("from", window.from)
                writer.field("until", window.until)
            }
        }
        writer.field("vehicle", self.vehicle?.rawValue)
    }

    init(from reader: inout JSONReader) throws(BadMessage) {
        self.init()
        try reader.object { (name, reader) throws(BadMessage) in
            switch String(decoding: name, as: UTF8.self) {
            case "orderNumber": self.orderNumber = try reader.string()
            case "items":
                try reader.array { (reader) throws(BadMessage) in self.items.append(try reader.string()) }
            case "note": self.note = try reader.string()
            case "window": self.window = try TimeWindow(from: &reader)
            case "vehicle": self.vehicle = Vehicle(rawValue: try reader.string())
            default: try reader.value()
            }
        }
    }

    /// - Returns: `nil` unless it is a valid description with at least one member.
    public init?(json: UnsafeRawBufferPointer) {
        var reader = JSONReader(json)
        guard let read = try? JobDisplay(from: &reader), (try? reader.end()) != nil else { return nil }
        let description = JobDisplayDescription(
            orderNumber: read.orderNumber, items: read.items, note: read.note,
            window: read.window.map { .init(from: $0.from, until: $0.until) }, vehicle: read.vehicle?.rawValue)
        guard let display = try? description.display(), !display.isEmpty else { return nil }
        self = display
    }
}

extension TimeWindow {
    fileprivate init(from reader: inout JSONReader) throws(BadMessage) {
        var (from, until) = (Int64?.none, Int64?.none)
        try reader.object { (name, reader) throws(BadMessage) in
            if name.equals("from") {
                from = try reader.integer()
            } else if name.equals("until") {
                until = try reader.integer()
            } else {
                try reader.value()
            }
        }
        guard let from, let until, let window = TimeWindow(from: from, until: until) else {
            throw BadMessage("a window needs from and until")
        }
        self = window
    }
}

/// Display details as the order system writes them.
public struct JobDisplayDescription: Decodable, Sendable {
    public struct Window: Decodable, Sendable {
        public var from: Int64
        public var until: Int64

        public init(from: Int64, until: Int64) { (self.from, self.until) = (from, until) }
    }

    public var orderNumber: String?
    public var items: [String]?
    public var note: String?
    public var window: Window?
    public var vehicle: String?

    public init(
        orderNumber: String? = nil, items: [String]? = nil, note: String? = nil, window: Window? = nil,
        vehicle: String? = nil
    ) {
        (self.orderNumber, self.items, self.note, self.window) = (orderNumber, items, note, window)
        self.vehicle = vehicle
    }

    /// - Returns: the details; empty if no member is given.
    public func display() throws(InvalidDescription) -> JobDisplay {
        if let orderNumber, !ShownText.isLine(orderNumber, longest: JobDisplay.longestNumber) {
            throw InvalidDescription(
                reason:
                    "display.orderNumber must be 1 to \(JobDisplay.longestNumber) printable characters, "
                    + "not only spaces.")
        }
        guard (self.items ?? []).count <= JobDisplay.maxItems,
            (self.items ?? []).allSatisfy({ ShownText.isLine($0, longest: JobDisplay.longestItem) })
        else {
            throw InvalidDescription(
                reason: "display.items must be at most \(JobDisplay.maxItems) texts of 1 to "
                    + "\(JobDisplay.longestItem) printable characters, not only spaces.")
        }
        if let note, !ShownText.isParagraph(note, longest: JobDisplay.longestNote) {
            throw InvalidDescription(
                reason:
                    "display.note must be 1 to \(JobDisplay.longestNote) printable characters or line breaks, "
                    + "not only spaces.")
        }
        var period: TimeWindow?
        if let window {
            period = TimeWindow(from: window.from, until: window.until)
            guard period != nil else {
                throw InvalidDescription(
                    reason: "display.window must have from before until, in ms since the epoch (13 digits).")
            }
        }
        let vehicle = self.vehicle.flatMap(Vehicle.init(rawValue:))
        guard (vehicle == nil) == (self.vehicle == nil) else {
            let vehicles = Vehicle.allCases.map(\.rawValue).joined(separator: ", ")
            throw InvalidDescription(reason: "display.vehicle must be one of \(vehicles).")
        }
        return JobDisplay(
            orderNumber: self.orderNumber, items: self.items ?? [], note: self.note, window: period, vehicle: vehicle)
    }
}

/// Names and values that the order system attaches to a job for its own programs.
public struct JobMetadata: Hashable, Sendable {
    public let values: [String: String]

    /// Maximum length as JSON, in bytes.
    public static let maxBytes = 2048
    /// Maximum length of a name in characters.
    public static let longestName = 64

    public static let none = JobMetadata(trusted: [:])

    private init(trusted values: [String: String]) { self.values = values }

    public init(_ values: [String: String]) throws(InvalidDescription) {
        let metadata = JobMetadata(trusted: values)
        guard values.keys.allSatisfy(Self.isName) else {
            throw InvalidDescription(
                reason: "The names in metadata must be 1 to \(Self.longestName) characters of [A-Za-z0-9_.-].")
        }
        guard metadata.json.count <= Self.maxBytes else {
            throw InvalidDescription(reason: "metadata must be at most \(Self.maxBytes) bytes as JSON.")
        }
        self = metadata
    }

    private static func isName(_ name: String) -> Bool {
        (1...Self.longestName).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0.isNameCharacter || $0 == UInt8(ascii: ".") }
    }

    public var isEmpty: Bool { self.values.isEmpty }

    /// In the order of the names.
    public var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { self.write(into: &$0) }
        return writer.bytes
    }

    func write(into writer: inout JSONWriter) {
        for (name, value) in self.values.sorted(by: { $0.key < $1.key }) { writer.member(name, value) }
    }

    init(from reader: inout JSONReader) throws(BadMessage) {
        var values: [String: String] = [:]
        try reader.object { (name, reader) throws(BadMessage) in
            values[String(decoding: name, as: UTF8.self)] = try reader.string()
        }
        guard let metadata = try? JobMetadata(values) else { throw BadMessage("metadata is invalid") }
        self = metadata
    }

    /// - Returns: `nil` unless it is valid metadata with at least one value.
    public init?(json: UnsafeRawBufferPointer) {
        var reader = JSONReader(json)
        guard let read = try? JobMetadata(from: &reader), (try? reader.end()) != nil, !read.isEmpty else { return nil }
        self = read
    }
}

extension JobMetadata: CustomReflectable {
    /// Only the names: the values may be personal.
    public var customMirror: Mirror {
        Mirror(self, children: ["names": self.values.keys.sorted()], displayStyle: .struct)
    }
}
