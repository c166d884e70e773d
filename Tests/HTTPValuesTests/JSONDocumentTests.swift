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
}
