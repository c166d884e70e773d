import Testing

@testable import EnrouteWire

/// The messages about the rider pool of a zone.
@Suite struct PoolViewTests {
    private static let zone = ZoneID("rome")!

    private static func change(_ version: Int64, after previous: Int64, job: JobID? = nil) -> RiderChange {
        RiderChange(
            zone: Self.zone, version: version, previous: previous, rider: PersonID("rider-7")!, kind: .assigned,
            status: .online, isReachable: true, isApproved: false, tasks: 1, capacity: 2, isAvailable: false, job: job,
            at: 1_795_248_617_626)
    }

    private static let messages: [ServerMessage] = [
        .pool(PoolView(zone: Self.zone, version: 0, .riders([], count: 0))),
        .pool(
            PoolView(
                zone: Self.zone, version: 1_795_248_617_626_123,
                .riders([PoolMember(rider: PersonID("rider-7")!, heartbeat: 1_795_248_617_626)], count: 9))),
        .pool(PoolView(zone: Self.zone, version: 3, .changes([]))),
        .pool(
            PoolView(
                zone: Self.zone, version: 3, .changes([change(2, after: 1), change(3, after: 2, job: JobID("j"))]))),
        .rider(change(1_795_248_617_626_123, after: 1_795_248_617_626_122)),
        .error(Refusal(replyTo: "watch", zone: Self.zone, code: .forbidden, message: "No.")),
    ]

    @Test(arguments: messages)
    func `a message survives encoding and decoding`(message: ServerMessage) throws {
        let again = try message.encoded.withUnsafeBytes { try ServerMessage($0) }
        #expect(again == message)
        #expect(again.encoded == message.encoded)
    }

    @Test(arguments: messages)
    func `a message that is cut off at any byte is refused`(message: ServerMessage) {
        let bytes = message.encoded
        for count in 0..<bytes.count {
            #expect(throws: BadMessage.self) {
                let cut = try Array(bytes.prefix(count)).withUnsafeBytes { try ServerMessage($0) }
                _ = cut
            }
        }
    }

    @Test func `a change within a view has the bytes of a separate message`() {
        let change = Self.change(3, after: 2)
        let view = PoolView(zone: Self.zone, version: 3, .changes([change]))
        let text = String(decoding: view.encoded, as: UTF8.self)
        #expect(text.hasSuffix(#""changes":[\#(String(decoding: change.encoded, as: UTF8.self))]}"#))
    }

    @Test(arguments: [
        #"{"type":"pool","zone":"rome","version":1}"#, #"{"type":"pool","version":1,"changes":[]}"#,
        #"{"type":"pool","zone":"rome","version":1,"riders":[]}"#,
        #"{"type":"pool","zone":"rome","version":1,"riders":[],"count":0,"changes":[]}"#,
        #"{"type":"pool","zone":"rome","version":1,"changes":[{"type":"status"}]}"#,
        #"{"type":"pool","zone":"rome","version":1,"riders":[{"rider":"a"}],"count":1}"#,
        #"{"type":"pool","zone":"rome","version":1,"version":1,"changes":[]}"#,
        #"{"type":"rider","zone":"rome","version":1,"prev":0,"rider":"a"}"#,
    ])
    func `a view or a change with a missing member is refused`(json: String) {
        #expect(throws: BadMessage.self) {
            let message = try Array(json.utf8).withUnsafeBytes { try ServerMessage($0) }
            _ = message
        }
    }

    @Test func `watch and unwatch contain the zone, and watch also since`() throws {
        for (json, message) in [
            (#"{"zone":"rome","type":"watch"}"#, ClientMessage.watch(zone: Self.zone, since: nil)),
            (#"{"type":"watch","zone":"rome","since":null}"#, .watch(zone: Self.zone, since: nil)),
            (#"{"type":"watch","zone":"rome","since":0,"x":[]}"#, .watch(zone: Self.zone, since: 0)),
            (
                #"{"type":"watch","zone":"rome","since":9999999999999999}"#,
                .watch(zone: Self.zone, since: 9_999_999_999_999_999)
            ), (#"{"type":"unwatch","zone":"rome"}"#, .unwatch(zone: Self.zone)),
        ] {
            let read = try Array(json.utf8).withUnsafeBytes { try ClientMessage($0) }
            #expect(read == message, "\(json)")
            let again = try read.encoded.withUnsafeBytes { try ClientMessage($0) }
            #expect(again == message)
        }
    }

    @Test(arguments: [
        (#"{"type":"watch"}"#, "watch needs zone"), (#"{"type":"unwatch"}"#, "unwatch needs zone"),
        (#"{"type":"watch","zone":"a b"}"#, "zone must be 1 to 64 characters of [A-Za-z0-9_-]"),
        (#"{"type":"watch","zone":"a","zone":"b"}"#, "watch contains a member twice"),
        (
            #"{"type":"watch","zone":"a","since":-1}"#,
            "since must be the version of a pool or a rider, 1 to 16 digits"
        ),
        (
            #"{"type":"watch","zone":"a","since":10000000000000000}"#,
            "since must be the version of a pool or a rider, 1 to 16 digits"
        ), (#"{"type":"watch","zone":"a","since":"1"}"#, "expected a number at byte 35"),
    ])
    func `an invalid message about a zone is refused with the reason`(json: String, reason: String) {
        #expect(throws: BadMessage(reason)) {
            let message = try Array(json.utf8).withUnsafeBytes { try ClientMessage($0) }
            _ = message
        }
    }
}
