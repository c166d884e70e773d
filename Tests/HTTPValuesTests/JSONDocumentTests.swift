// JSON documents of the REST interface.

import Testing

@testable import HTTPValues

@Suite struct JSONDocumentTests {
    @Test func `members are sorted by name, and slashes are not escaped`() throws {
        let bytes = try JSONDocument.bytes(["url": "/track/job-1", "id": "1"])
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"id":"1","url":"/track/job-1"}"#)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func `a number that JSON cannot represent is an error`(number: Double) {
        #expect(throws: EncodingError.self) { try JSONDocument.bytes(["distance": number]) }
    }

    @Test func `a number out of range is found by its path, and other errors are distinguished`() {
        func fault(_ text: String) -> JSONDocument.Fault { JSONDocument.fault(of: Array(text.utf8)) }
        #expect(fault(#"{"a":{"b":1e400}}"#) == .number(path: "a.b"))
        #expect(
            fault(#"{"s":"x","n":null,"t":true,"b":-\#(String(repeating: "9", count: 400))}"#) == .number(path: "b"))
        #expect(fault(#"{"a":1.5}"#) == .integer)
        for text in ["", "{", #"{"a":"\ud800"}"#] { #expect(fault(text) == .malformed, "\(text)") }
        let deep = 500
        #expect(fault(String(repeating: "[", count: deep) + String(repeating: "]", count: deep)) == .integer)
    }
}
