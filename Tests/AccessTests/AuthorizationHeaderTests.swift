import Testing

@testable import Access

@Suite struct AuthorizationHeaderTests {
    @Test func `the scheme counts in any case, and the credentials follow after one space`() {
        for header in ["Bearer a.b.c", "bearer a.b.c", "BEARER a.b.c"] {
            #expect(header.credentials(ofScheme: "bearer") == "a.b.c")
            #expect(header.credentials(ofScheme: "link") == nil)
        }
        #expect("Link x_1-2".credentials(ofScheme: "link") == "x_1-2")
    }

    @Test func `a malformed header has no credentials`() {
        let headers = [
            "", " ", "Bearer", "Bearer ", "Bearer  a", "Bearer a b", "Bearer a ", " Bearer a", "Bearera",
            "Bea\u{301}re a",
        ]
        for header in headers { #expect(header.credentials(ofScheme: "bearer") == nil, "\(header)") }
    }
}
