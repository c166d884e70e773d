import Testing

@testable import WebAssets

@Suite struct PageTextTests {
    private func sent(_ source: String) -> String {
        String(decoding: PageText.withoutComments(Array(source.utf8)), as: UTF8.self)
    }

    @Test func `comments on lines of their own are removed`() {
        #expect(self.sent("// why\nlet a = 1;\n  // more\n") == "\nlet a = 1;\n\n")
        #expect(self.sent("/** What.\n * How.\n */\nlet a;") == "\n\n\nlet a;")
        #expect(self.sent("  /* one line */\r\na { b: c; }") == "\na { b: c; }")
        #expect(self.sent("/* a\n\n// b */\nc") == "\n\n\nc")
    }

    @Test(arguments: [
        "let a = 1;  // of a line of code", "fetch('https://a/b')", "a { b: c; }  /* d */", "/* a */ let b;",
        "/* a\n b */ let c;", "/* never ends\nlet a;", "/*/ neither\n", "/", "", "\n", "a /\n/ b", "*/",
        "/*! (c) whose */",
    ])
    func `a comment on a line with code stays`(source: String) {
        #expect(self.sent(source) == source)
    }

    @Test(arguments: [
        ("a {\n  b: c  d;\n}\n", "a {b: c  d;}\n"), ("\n\na\n\n  \n  b\n\nc", "a\nb\nc\n"), ("", ""),
        ("a(\n  b,\n  [\n    c,\n  ],\n)\nd", "a(b,[c,],)\nd\n"), ("a; // b;\nc", "a; // b;\nc\n"),
        ("f('https://a/b');\nc", "f('https://a/b');\nc\n"),
    ])
    func `indentation, empty lines and meaningless line breaks are removed, and spaces within a line stay`(
        source: String, expected: String
    ) {
        #expect(String(decoding: PageText.compacted(Array(source.utf8)), as: UTF8.self) == expected)
    }

    @Test func `no string of a page's script spans lines, so compacting changes none`() {
        for (name, bytes) in EmbeddedFiles.pages where name.hasSuffix(".js") {
            for line in self.sent(String(decoding: bytes, as: UTF8.self)).split(separator: "\n") {
                #expect(line.count { $0 == "`" }.isMultiple(of: 2), "\(name): \(line)")
            }
        }
    }

    @Test func `line numbers do not change`() {
        let source = "// a\n\n/*\n b\n*/\n\nlet c;\n"
        #expect(self.sent(source).split(separator: "\n", omittingEmptySubsequences: false).count == 8)
        #expect(self.sent(source).split(separator: "\n", omittingEmptySubsequences: false)[6] == "let c;")
    }
}
