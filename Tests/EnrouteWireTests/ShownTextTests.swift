import EnrouteWire
import Foundation
import Testing

/// Texts and links that the order system writes for people.
@Suite struct ShownTextTests {
    private static func reason(_ change: (inout RiderCardDescription) -> Void) -> String? {
        var description = RiderCardDescription()
        change(&description)
        do throws(InvalidDescription) {
            _ = try description.card()
            return nil
        } catch {
            return error.reason
        }
    }

    @Test(arguments: [
        "https://photos.example/rosa.jpg", "https://photos.example", "https://a.b:8443/x?y=%20#z", "https://10.0.0.1/",
    ])
    func `an https URL can be a photo and a contact`(url: String) {
        #expect(Self.reason { $0.photo = url } == nil)
        #expect(Self.reason { $0.contact = url } == nil)
    }

    @Test(arguments: [
        "", "http://photos.example/x", "HTTPS://photos.example/x", "//photos.example/x", "/rosa.jpg",
        "https:/photos.example",
        "https://", "https:///x", "https://user@photos.example/x", "https://photos.example:x/",
        "https://photos.example:0/",
        "https://photos.example:70000/", "https://photos.example/a b", "https://photos.example/\"",
        "https://ph\u{f6}tos.example/",
        "https://photos.example/<", "javascript:alert(1)", "data:image/png;base64,AA", "https://[::1]/x",
        "https://photos.example/" + String(repeating: "a", count: 500),
    ])
    func `no other address can be a photo or a contact`(url: String) {
        #expect(Self.reason { $0.photo = url }?.contains("card.photo") == true)
        #expect(Self.reason { $0.contact = url }?.contains("card.contact") == true)
    }

    @Test(arguments: ["tel:+390612345", "tel:+39-06-123.45", "tel:(030)123", "tel:+390612345,42", "tel:110;ext=7"])
    func `a telephone number can be a contact, but not a photo`(number: String) {
        #expect(Self.reason { $0.contact = number } == nil)
        #expect(Self.reason { $0.photo = number } != nil)
    }

    /// `*` and `#` control the phone itself, for example its call forwarding.
    @Test(arguments: [
        "tel:", "tel:+", "tel:12", "tel:*21*110#", "tel:110#", "tel:abc", "TEL:110", "tel: 110", "tel:110;ext=",
        "tel:110;ext=a",
        "tel:110;isub=1", "sms:110", "tel:" + String(repeating: "1", count: 64),
    ])
    func `text that is not a plain telephone number cannot be a contact`(number: String) {
        #expect(Self.reason { $0.contact = number } != nil)
    }

    @Test func `texts are bounded and visible, and cannot change the text direction of the page`() {
        #expect(Self.reason { $0.name = String(repeating: "\u{e9}", count: 100) } == nil)
        #expect(Self.reason { $0.name = "روزا" } == nil)
        for name in [
            "", " ", String(repeating: "a", count: 101), "a\nb", "a\u{7f}", "\u{202e}asoR", "a\u{2066}b", "a\u{85}",
        ] {
            #expect(Self.reason { $0.name = name }?.contains("card.name") == true, "\(name.debugDescription)")
        }
        #expect(Self.reason { $0.plate = String(repeating: "A", count: 20) } == nil)
        #expect(Self.reason { $0.plate = String(repeating: "A", count: 21) }?.contains("card.plate") == true)
        for vehicle in Vehicle.allCases { #expect(Self.reason { $0.vehicle = vehicle.rawValue } == nil) }
        #expect(Self.reason { $0.vehicle = "Car" }?.contains("cargo_bike") == true)
    }

    @Test(arguments: ["\u{202e}onig", "a\u{2066}b", "a\u{2028}b", "a\u{85}b", "   ", "", "a\u{7f}", "\t"])
    func `a vendor's name and address follow the same rules`(text: String) throws {
        for member in ["name", "address"] {
            let json = try JSONEncoder().encode([member: text])
            let vendor = try JSONDecoder().decode(VendorDescription.self, from: json)
            let fault = #expect(throws: VendorDescription.Impossible.self) { _ = try vendor.place() }
            #expect(fault?.reason.hasPrefix("vendor.\(member) must be 1 to ") == true)
        }
    }

    @Test func `a vendor's address may have lines, and its name has one`() throws {
        func vendor(_ member: String) throws -> PickupPlace {
            let json = try JSONEncoder().encode([member: "Via Appia 1\nRoma"])
            return try JSONDecoder().decode(VendorDescription.self, from: json).place()
        }
        #expect(try vendor("address").address == "Via Appia 1\nRoma")
        #expect(throws: VendorDescription.Impossible.self) { _ = try vendor("name") }
    }

    private static func json<Value>(_ text: String, _ parse: (UnsafeRawBufferPointer) -> Value?) -> Value? {
        Array(text.utf8).withUnsafeBytes { parse($0) }
    }

    @Test func `a card survives storing, and other texts are not a card`() {
        let card = RiderCard(name: "Rosa \"R\" \\", vehicle: .cargoBike, plate: "AB 1", contact: "tel:+390612345,42")
        #expect(card.json.withUnsafeBytes { RiderCard(json: $0) } == card)
        for text in [
            "", "{", "{}", "[]", "null", #"{"name":1}"#, #"{"photo":"http://x"}"#, #"{"name":"a"} x"#, #"{"name":""}"#,
        ] {
            #expect(Self.json(text) { RiderCard(json: $0) } == nil, "\(text)")
        }
        #expect(
            Self.json(#"{"name":"a","rating":5,"vehicle":"hovercraft"}"#) { RiderCard(json: $0) }
                == RiderCard(name: "a"))
        #expect(!"\(String(reflecting: card))".contains("Rosa"))
    }

    @Test func `display details survive storing, and their parts are bounded`() throws {
        let display = JobDisplay(
            orderNumber: "A-7", items: ["a", "b"], note: "third\nfloor",
            window: TimeWindow(from: 1_795_248_600_000, until: 1_795_250_400_000), vehicle: .cargoBike)
        #expect(display.json.withUnsafeBytes { JobDisplay(json: $0) } == display)
        for text in ["", "{}", #"{"items":[1]}"#, #"{"items":["a",""]}"#, #"{"window":{"from":2,"until":1}}"#] {
            #expect(Self.json(text) { JobDisplay(json: $0) } == nil, "\(text)")
        }
        func isValid(_ change: (inout JobDisplayDescription) -> Void) -> Bool {
            var description = JobDisplayDescription()
            change(&description)
            return (try? description.display()) != nil
        }
        #expect(isValid { $0.vehicle = "foot" } && !isValid { $0.vehicle = "hovercraft" })
        #expect(isValid { $0.items = Array(repeating: "a", count: 20) })
        #expect(!isValid { $0.items = Array(repeating: "a", count: 21) })
        #expect(!isValid { $0.items = [String(repeating: "a", count: 101)] })
        #expect(!isValid { $0.items = ["a\nb"] })
        #expect(isValid { $0.note = String(repeating: "a\n", count: 250) })
        #expect(!isValid { $0.note = String(repeating: "a", count: 501) })
        #expect(!isValid { $0.note = "a\tb" })
        #expect(!isValid { $0.orderNumber = String(repeating: "a", count: 65) })
        for (from, until) in [(1, 2), (1_795_248_600_000, 1_795_248_600_000), (1_795_248_600_001, 1_795_248_600_000)]
            as [(Int64, Int64)]
        {
            #expect(!isValid { $0.window = .init(from: from, until: until) })
        }
    }

    @Test func `a recipient survives storing, its parts are bounded, and no log names the person`() {
        let recipient = Recipient(
            name: "Anna", address: "Via Appia 1, Roma", floor: "3rd floor, left", contact: "tel:+390612345,17")
        #expect(recipient.json.withUnsafeBytes { Recipient(json: $0) } == recipient)
        for text in [
            "", "{}", "[]", "null", #"{"name":1}"#, #"{"floor":"a\nb"}"#, #"{"contact":"0612345"}"#, #"{"name":""}"#,
        ] {
            #expect(Self.json(text) { Recipient(json: $0) } == nil, "\(text)")
        }
        func isValid(_ change: (inout RecipientDescription) -> Void) -> Bool {
            var description = RecipientDescription()
            change(&description)
            return (try? description.recipient()) != nil
        }
        #expect(isValid { $0.contact = "https://chat.example/17" } && !isValid { $0.contact = "javascript:alert(1)" })
        #expect(isValid { $0.name = String(repeating: "a", count: 100) })
        #expect(!isValid { $0.name = String(repeating: "a", count: 101) })
        #expect(isValid { $0.address = String(repeating: "a", count: 200) })
        #expect(!isValid { $0.address = String(repeating: "a", count: 201) })
        #expect(isValid { $0.floor = String(repeating: "a", count: 100) } && !isValid { $0.floor = "a\u{202E}b" })
        #expect(!isValid { $0.floor = String(repeating: "a", count: 101) })
        #expect(!String(reflecting: recipient).contains("Anna") && !"\(recipient)".contains("Appia"))
    }

    @Test func `metadata has plain names and at most 2 KB`() throws {
        let metadata = try JobMetadata(["b.c-d_E": "\n\u{1}\"", "a": ""])
        #expect(metadata.json.withUnsafeBytes { JobMetadata(json: $0) } == metadata)
        #expect(String(decoding: metadata.json, as: UTF8.self).hasPrefix(#"{"a":"","b.c-d_E":"#))
        for name in ["", "a b", "a\"", "ä", String(repeating: "a", count: 65)] {
            #expect(throws: InvalidDescription.self, "\(name)") { try JobMetadata([name: "x"]) }
        }
        #expect(throws: Never.self) { try JobMetadata(["a": String(repeating: "x", count: 2048 - 8)]) }
        #expect(throws: InvalidDescription.self) { try JobMetadata(["a": String(repeating: "x", count: 2048 - 7)]) }
        // Text that grows by escaping counts with its stored length.
        #expect(throws: InvalidDescription.self) { try JobMetadata(["a": String(repeating: "\u{1}", count: 400)]) }
        for text in ["", "{}", "[]", #"{"a":1}"#, #"{"a b":"x"}"#] {
            #expect(Self.json(text) { JobMetadata(json: $0) } == nil, "\(text)")
        }
        #expect(!String(reflecting: try JobMetadata(["tenant": "north"])).contains("north"))
    }

    @Test func `followers see who is coming from the acceptance or assignment until the job ends`() {
        let hidden: Set<JobStatus> = [.pendingVendorAcceptance, .allocationFailed, .delivered, .completed, .cancelled]
        for status in JobStatus.allCases {
            #expect(status.showsRider != hidden.contains(status), "\(status)")
            #expect(!status.allowsTravel || status.showsRider)
        }
    }
}
