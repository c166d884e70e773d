@testable import EnrouteWire
import TestSupport
import Testing

/// The reader of location messages in one pass, which must agree with the general reader.
@Suite struct CompactReportTests {
    private static func compact(_ json: some StringProtocol) -> LocationReport? {
        Array(json.utf8).withUnsafeBytes { LocationReport(compact: $0) }
    }

    private static func general(_ json: String) -> LocationReport? {
        guard case .location(let report)? = try? clientMessage(json) else { return nil }
        return report
    }

    /// Reports as `enroute.js` and the Swift client write them.
    private static let written = [
        #"{"type":"location","job":"job-7","seq":1,"fixes":[{"at":1700000000000,"lat":52.5,"lon":13.4}]}"#,
        #"{"type":"location","job":"job-7","seq":12,"fixes":[{"at":1700000000000,"lat":-52.5201234,"lon":-13.4049876,"acc":4.5,"#
            + #""spd":7.25,"hdg":359.9}],"battery":0.42}"#,
        #"{"type":"location","job":"j","seq":0,"battery":1,"fixes":[{"lat":0,"lon":0.0000001,"at":1700000000000},"#
            + #"{"at":1700000001000,"lat":90,"lon":180,"hdg":0}]}"#,
        #"{"type":"location","job":"j","seq":999999999999999,"fixes":[{"at":9999999999999,"lat":1,"lon":-0,"acc":-0}]}"#,
        #"{"type":"location","job":"j","seq":3,"fixes":[{"at":1700000000000,"lat":1,"lon":2,"hdg":1,"mock":true}]}"#,
    ]

    @Test(arguments: written) func `a report as clients write it is read in one pass`(json: String) throws {
        let report = try #require(Self.compact(json))
        #expect(report == Self.general(json))
    }

    @Test func `a report that the Swift client encodes is read in one pass`() throws {
        for json in Self.written {
            let report = try #require(Self.general(json))
            #expect(report.encoded.withUnsafeBytes { LocationReport(compact: $0) } == report)
        }
    }

    @Test(
        arguments: [
            #"{"type":"location","ref":"r","job":"j","seq":1,"fixes":[{"at":1700000000000,"lat":1,"lon":1}]}"#,
            #"{"type":"location","jobs":["j","k"],"seq":1,"fixes":[{"at":1700000000000,"lat":1,"lon":1}]}"#,
            #"{ "type":"location","job":"j","seq":1,"fixes":[{"at":1700000000000,"lat":1,"lon":1}]}"#,
            #"{"job":"j","type":"location","seq":1,"fixes":[{"at":1700000000000,"lat":1,"lon":1}]}"#,
            #"{"type":"location","job":"j","seq":1,"fixes":[{"at":1700000000000,"lat":1,"lon":1,"acc":null}]}"#,
            #"{"type":"location","job":"j","seq":1,"fixes":[{"at":1700000000000,"lat":1e0,"lon":1}]}"#,
            #"{"type":"location","job":"j","seq":1,"fixes":[{"at":1700000000000,"lat":1,"lon":1,"mock":false}]}"#,
            #"{"type":"location","job":"j","seq":1,"fixes":[{"at":1700000000000,"lat":1,"lon":1,"mock":null}]}"#,
            #"{"type":"location","job":"j","seq":1,"fixes":[{"at":1700000000000,"lat":1.0000000000000001,"lon":1}]}"#,
            #"{"type":"location","job":"j","seq":1,"fixes":[{"at":1700000000000,"lat":91,"lon":1}]}"#,
            #"{"type":"location","job":"j","seq":1,"extra":true,"fixes":[{"at":1700000000000,"lat":1,"lon":1}]}"#,
        ])
    func `the general reader parses a valid report in another form`(json: String) {
        #expect(Self.compact(json) == nil)
        #expect(Self.general(json) != nil)
    }

    @Test func `a report with one changed, missing or additional byte means the same to both readers`() {
        var generator = SeededGenerator(seed: 7)
        let alphabet = Array(#"{}[]",:.-+eE019 \jlatonseqfixbrymck"#.utf8)
        var (accepted, left) = (0, 0)
        for _ in 0..<40_000 {
            var bytes = Array(Self.written.randomElement(using: &generator)!.utf8)
            let index = Int.random(in: bytes.indices, using: &generator)
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: bytes[index] = alphabet.randomElement(using: &generator)!
            case 1: bytes.remove(at: index)
            default: bytes.insert(alphabet.randomElement(using: &generator)!, at: index)
            }
            let json = String(decoding: bytes, as: UTF8.self)
            guard let report = Self.compact(json) else {
                left += 1
                continue
            }
            accepted += 1
            #expect(report == Self.general(json), "\(json)")
        }
        #expect(accepted > 2_000 && left > 2_000, "\(accepted) accepted, \(left) left")
    }

    @Test func `a published location with one changed, missing or additional byte means the same to both readers`()
        throws
    {
        var generator = SeededGenerator(seed: 8)
        let fixes = try Self.written.flatMap { try #require(Self.compact($0)).fixes }
        let alphabet = Array(#"{}[]",:.-+eE019 \jlatonseqfixbry"#.utf8)
        var (accepted, left) = (0, 0)
        for _ in 0..<40_000 {
            let fix = fixes.randomElement(using: &generator)!
            var bytes =
                PublishedLocation.head + Array("1700000000000000\",\"at\":\(fix.at)".utf8)
                + PublishedLocation.tail(of: fix, job: .job7, receivedAt: 1_700_000_000_001)
            let index = Int.random(in: bytes.indices, using: &generator)
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: bytes[index] = alphabet.randomElement(using: &generator)!
            case 1: bytes.remove(at: index)
            case 2: bytes.insert(alphabet.randomElement(using: &generator)!, at: index)
            default: break
            }
            let compact = bytes.withUnsafeBytes { PublishedLocation.stamp(compact: $0, of: .job7) }
            let general = bytes.withUnsafeBytes { PublishedLocation.stamp(general: $0, of: .job7) }
            if let compact { #expect(compact == general, "\(String(decoding: bytes, as: UTF8.self))") }
            if compact == nil { left += 1 } else { accepted += 1 }
        }
        #expect(accepted > 10_000 && left > 2_000, "\(accepted) accepted, \(left) left")
    }

    @Test func `a report that ends early is not read`() {
        for json in Self.written {
            for count in 0..<json.utf8.count { #expect(Self.compact(String(json.utf8.prefix(count))!) == nil) }
        }
    }

    @Test func `the fix of a published location is read without decoding the rest`() throws {
        for json in Self.written {
            for fix in try #require(Self.compact(json)).fixes {
                let message =
                    PublishedLocation.head + Array("1700000000000000\",\"at\":\(fix.at)".utf8)
                    + PublishedLocation.tail(of: fix, job: .job7, receivedAt: 1_700_000_000_001)
                let read = message.withUnsafeBytes { PublishedLocation.fix(of: $0) }
                guard case .location(let decoded) = try message.withUnsafeBytes({ try ServerMessage($0) }) else {
                    Issue.record("not a location")
                    return
                }
                #expect(read == decoded.fix)
                for count in message.indices {
                    #expect(message.prefix(count).withUnsafeBytes { PublishedLocation.fix(of: $0) } == nil)
                }
            }
        }
    }
}
