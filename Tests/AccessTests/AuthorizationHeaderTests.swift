import Testing

@testable import Access

@Suite struct AuthorizationHeaderTests {
    @Test func `the scheme is case-insensitive, and the credentials follow after one space`() {
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

    @Test func `a header has its scheme whatever follows it`() {
        for header in ["Bearer", "bearer ", "BEARER a.b.c", "Bearer  a"] {
            #expect(header.hasScheme("bearer"), "\(header)")
        }
        for header in ["", " ", " Bearer a", "Basic eA==", "Bearera", "a.b.c"] {
            #expect(!header.hasScheme("bearer"), "\(header)")
        }
    }

    @Test func `a message may contain the scheme, but nothing that may be a token`() {
        for (header, scheme) in [
            ("Basic YTpi", "Basic"), ("Link x", "Link"), ("AWS4-HMAC-SHA256 x", "AWS4-HMAC-SHA256"),
            ("token ", "token"),
        ] {
            #expect(header.presentableScheme == scheme)
        }
        let headers = [
            "", " ", " a", "eyJh.eyJp.c2ln", "eyJh.eyJp.c2ln x", "eyJhbGciOiJIUzI1NiJ9x x", "ä x", "a\u{7}b x",
        ]
        for header in headers { #expect(header.presentableScheme == nil, "\(header)") }
    }
}
