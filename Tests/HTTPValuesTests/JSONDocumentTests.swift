// REST's own documents: written whole, or not at all.

import Testing

@testable import HTTPValues

@Suite struct JSONDocumentTests {
    @Test func `members stand in the order of their names, and slashes as they are`() throws {
        let bytes = try JSONDocument.bytes(["url": "/track/job-1", "id": "1"])
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"id":"1","url":"/track/job-1"}"#)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func `a number that JSON has no form for is an error, and not an empty answer`(number: Double) {
        #expect(throws: EncodingError.self) { try JSONDocument.bytes(["distance": number]) }
    }
}
