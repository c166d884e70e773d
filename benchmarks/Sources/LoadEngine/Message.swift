// The bytes of a location, created once per job; afterwards only numbers are written into it: nothing is allocated per message.

/// A text that contains numbers of fixed width.
public struct MessageTemplate {
    public private(set) var bytes: [UInt8]
    private let id: Range<Int>?
    private let times: [Range<Int>]
    private let place: Range<Int>?

    public static let idMark = "{id------------}"
    public static let atMark = "{at---------}"
    public static let placeMark = "{place}"

    /// - Parameter text: contains `idMark`, of 16 characters, `atMark`, of 13, and `placeMark`, the seven decimals of a latitude,
    ///   where the numbers belong.
    public init(_ text: String) {
        self.bytes = Array(text.utf8)
        self.id = self.bytes.firstRange(of: Array(Self.idMark.utf8))
        self.times = self.bytes.ranges(of: Array(Self.atMark.utf8))
        self.place = self.bytes.firstRange(of: Array(Self.placeMark.utf8))
    }

    /// - Parameter decimals: of the latitude, in units of 0.0000001 degrees.
    public mutating func set(place decimals: UInt64) {
        if let place = self.place { self.write(decimals, place) }
    }

    public mutating func set(id: UInt64, at: Int64) {
        if let place = self.id { self.write(id, place) }
        for place in self.times { self.write(UInt64(at), place) }
    }

    private mutating func write(_ number: UInt64, _ place: Range<Int>) {
        var rest = number
        for index in place.reversed() {
            self.bytes[index] = UInt8(48 + rest % 10)
            rest /= 10
        }
    }

    /// A location as published by `publish_location.lua`, of this many bytes. Decimals of the heading, or a member that readers
    /// ignore, fill the rest; it does not change if a peer parses and writes it again.
    public static func location(job: String, bytes: Int) -> String {
        let start =
            #"{"type":"location","id":"\#(self.idMark)","at":\#(self.atMark),"job":"\#(job)","received":\#(self.atMark)"#
        let text = start + #","lat":41.9027835,"lon":12.4963655,"acc":5,"spd":8.25,"hdg":47.5"#
        let missing = max(0, bytes - text.utf8.count - 1)
        let member = #","note":"""#
        guard missing > member.utf8.count else { return text + String(repeating: "1", count: missing) + "}" }
        return text + member.dropLast() + String(repeating: "x", count: missing - member.utf8.count) + "\"}"
    }
}
