import EnrouteWire
import Testing

@Suite struct ClientMessageTests {
    fileprivate static let types =
        "type must be one of auth, subscribe, unsubscribe, location, travel, availability, presence, unavailable, watch, "
        + "unwatch, "
        + "refresh, ping"

    private static let job = JobID("job-7")!
    private static let messages: [ClientMessage] = [
        .auth(.token("aaa.bbb.ccc")), .auth(.link("0123456789abcdef0123456789abcdef")),
        .auth(.token("a \"b\" \\ é😀\n")),
        .subscribe(job: job, since: nil),
        .subscribe(job: job, since: ResumePoint(epoch: "e_1-Z", id: StatusID("1700000000000-3")!)),
        .unsubscribe(job: job),
        .location(
            LocationReport(
                job: job, sequence: 0,
                fixes: [
                    Fix(
                        at: 1_700_000_000_000, place: .somewhere, accuracyMeters: 4.5, speedMetersPerSecond: 7.25,
                        headingDegrees: 359.9),
                    Fix(at: 1_700_000_001_000, place: Coordinate(latitude: -90, longitude: -180)!),
                ])),
        .travel(job: job, active: true), .travel(job: job, active: false), .ping,
        .availability(.online, device: DeviceID("phone-1")), .availability(.offline, device: nil),
        .presence(.somewhere, device: nil), .presence(nil, device: DeviceID("phone-1")),
    ]

    @Test func `there is an example of every kind of message`() {
        #expect(
            Set(Self.messages.map(\.type)) == [
                "auth", "subscribe", "unsubscribe", "location", "travel", "availability", "presence", "ping",
            ])
    }

    @Test(arguments: messages)
    func `a message survives encoding and decoding`(message: ClientMessage) throws {
        #expect(try message.encoded.withUnsafeBytes { try ClientMessage($0) } == message)
    }

    @Test(arguments: messages)
    func `a message that is cut off at any byte is refused`(message: ClientMessage) {
        let bytes = message.encoded
        for count in 0..<bytes.count {
            let part = Array(bytes.prefix(count))
            #expect(throws: BadMessage.self, "\(count) bytes") { try part.withUnsafeBytes { try ClientMessage($0) } }
        }
    }

    @Test(arguments: messages)
    func `data after a message is refused, white space is accepted`(message: ClientMessage) throws {
        for tail in ["x", "{}", ",", "\0"] {
            let bytes = message.encoded + Array(tail.utf8)
            #expect(throws: BadMessage("there is data after the message")) {
                try bytes.withUnsafeBytes { try ClientMessage($0) }
            }
        }
        let spaced = Array(" \n".utf8) + message.encoded + Array(" \r\n\t".utf8)
        #expect(try spaced.withUnsafeBytes { try ClientMessage($0) } == message)
    }

    @Test(arguments: messages)
    func `a message with one changed byte is refused or valid, and never crashes the process`(
        message: ClientMessage
    ) {
        let bytes = message.encoded
        for index in bytes.indices {
            for byte in [0, UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "{"), UInt8(ascii: "9"), 0xFF] {
                var changed = bytes
                changed[index] = byte
                let read = try? changed.withUnsafeBytes { try ClientMessage($0) }
                // The decoded message is valid, so it survives encoding and decoding.
                if let read {
                    #expect((try? read.encoded.withUnsafeBytes { try ClientMessage($0) })?.type == read.type)
                }
            }
        }
    }

    @Test func `unknown members are ignored, wherever type is`() throws {
        let json = #"{"x":[{"y":null}],"job":"job-7","type":"unsubscribe","z":{"type":"ping"}}"#
        #expect(try clientMessage(json) == .unsubscribe(job: Self.job))
    }

    @Test(
        arguments: [
            ("{}", "the message needs type"),
            ("[]", "expected an object at byte 0"), ("hello", "expected an object at byte 0"),
            (#"{"job":}"#, "expected a value at byte 7"),
            (#"{"type":"ping","type":"ping"}"#, "the message contains type twice"),
            (#"{"type":"fly"}"#, ClientMessageTests.types),
            (#"{"type":"PING"}"#, ClientMessageTests.types),
            (#"{"type":null}"#, "expected a string at byte 8"),
            (#"{"type":"subscribe"}"#, "subscribe needs either job and optionally since, or jobs"),
            (#"{"type":"subscribe","job":"a b"}"#, "job must be 1 to 64 characters of [A-Za-z0-9_-]"),
            (#"{"type":"subscribe","job":"{x}"}"#, "job must be 1 to 64 characters of [A-Za-z0-9_-]"),
            (#"{"type":"subscribe","job":"a","job":"b"}"#, "subscribe contains a member twice"),
            (#"{"type":"subscribe","job":"a","since":{}}"#, "since needs epoch"),
            (#"{"type":"subscribe","job":"a","since":{"epoch":"e"}}"#, "since needs id"),
            (
                #"{"type":"subscribe","job":"a","since":{"epoch":"","id":"1-0"}}"#,
                "epoch must be the epoch of a snapshot"
            ),
            (#"{"type":"subscribe","job":"a","since":{"epoch":"e","id":"1"}}"#, "id must be a status id"),
            (
                #"{"type":"subscribe","job":"a","since":{"epoch":"e","epoch":"f","id":"1-0"}}"#,
                "since contains a member twice"
            ),
            (#"{"type":"travel","job":"a"}"#, "travel needs active: true or false"),
            (#"{"type":"travel","job":"a","active":1}"#, "expected true or false"),
            (#"{"type":"travel","job":"a","active":"true"}"#, "expected true or false"),
            (#"{"type":"travel","active":true}"#, "travel needs job"),
            (#"{"type":"availability"}"#, "availability needs status: online or offline"),
            (#"{"type":"availability","status":"busy"}"#, "availability needs status: online or offline"),
            (
                #"{"type":"availability","status":"online","device":"a b"}"#,
                "device must be 1 to 64 characters of [A-Za-z0-9_-]"
            ),
            (
                #"{"type":"presence","lat":1}"#,
                "lat must be -90 to 90 and lon -180 to 180 degrees, both or none, and not both 0"
            ),
            (#"{"type":"auth"}"#, "auth needs either token or link"),
            (#"{"type":"auth","token":"a","link":"b"}"#, "auth needs either token or link"),
            (#"{"\u0074ype":"ping"}"#, "a member name must not contain escape sequences"),
            (#"{"type":"unsubscribe","\u006aob":"a"}"#, "a member name must not contain escape sequences"),
        ])
    func `an invalid message is refused with the reason`(json: String, reason: String) {
        #expect(refusal { _ = try clientMessage(json) } == reason)
    }

    @Test(arguments: [(35, 36), (25, 64)])
    func `one subscribe holds as many jobs with since as documented`(jobs: Int, idLength: Int) throws {
        // Gateways choose an epoch of 64 random bits, written with the digits and letters.
        let since = ResumePoint(
            epoch: String(UInt64.max, radix: 36), id: StatusID("1795248617611-99")!)
        let entries = (0..<jobs).map { number in
            let digits = String(number)
            let id = String(repeating: "j", count: idLength - digits.count) + digits
            return Subscription(job: JobID(id)!, since: since)
        }
        let message = ClientMessage.subscribeAll(entries)
        #expect(message.encoded.count <= Limits().messageBytes)
        #expect(try message.encoded.withUnsafeBytes { try ClientMessage($0) } == message)
    }

    @Test func `since may be null`() throws {
        #expect(
            try clientMessage(#"{"type":"subscribe","job":"job-7","since":null}"#)
                == .subscribe(job: Self.job, since: nil))
    }
}
