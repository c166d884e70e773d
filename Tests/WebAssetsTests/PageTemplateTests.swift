import Testing

@testable import WebAssets

@Suite struct PageTemplateTests {
    private static func filled(_ html: String, _ change: (inout PageTemplate) -> Void) -> String {
        var template = PageTemplate(Array(html.utf8))
        change(&template)
        return String(decoding: template.bytes, as: UTF8.self)
    }

    @Test func `the language replaces the language of the page, or is added`() {
        #expect(Self.filled(#"<html lang="en"><p>"#) { $0.setLanguage("de") } == #"<html lang="de"><p>"#)
        #expect(
            Self.filled(#"<html dir="ltr" lang="en">"#) { $0.setLanguage("de-AT") }
                == #"<html dir="ltr" lang="de-AT">"#)
        #expect(Self.filled("<html>") { $0.setLanguage("de") } == #"<html lang="de">"#)
        #expect(Self.filled("<p>") { $0.setLanguage("de") } == "<p>")
    }

    @Test func `an element is filled by its id and shown`() {
        #expect(
            Self.filled(#"<h1 class="a" id="headline">One …</h1><p>"#) { $0.fill("headline", with: "Two") }
                == #"<h1 class="a" id="headline">Two</h1><p>"#)
        #expect(
            Self.filled(#"<ol id="steps" hidden class="b"></ol>"#) { $0.fill("steps", with: "<li>1</li>") }
                == #"<ol id="steps" class="b"><li>1</li></ol>"#)
        #expect(
            Self.filled(#"<p id="a" hidden></p><p hidden></p>"#) { $0.fill("a", with: "x") }
                == #"<p id="a">x</p><p hidden></p>"#)
        #expect(
            Self.filled(#"<p id="a" data-hidden-by="x">"#) { $0.fill("a", with: "x") }
                == #"<p id="a" data-hidden-by="x">"#)
    }

    @Test func `a missing id is skipped`() {
        for html in ["", "<p>", #"<p id="other"></p>"#, #"<p id="a""#, #"<p id="a">"#] {
            #expect(Self.filled(html) { $0.fill("a", with: "x") } == html)
            #expect(Self.filled(html) { $0.addToHead("<meta>") } == html)
            #expect(Self.filled(html) { $0.add(json: [], as: "first") } == html)
        }
    }

    @Test func `addresses that begin with a slash become relative to the page, and other addresses stay`() {
        func relative(_ html: String, to path: String) -> String {
            Self.filled(html) { $0.makeAddressesRelative(to: path) }
        }
        let html = #"<link href="/a.css"><script src="/b.js"></script><a class="c" href="/ops?tab=system">"#
        for (path, root) in [
            ("/ops", "./"), ("/track/job-1", "../"), ("/rider/", "../"), ("/a/b/c/", "../../../"), ("/", "./"),
        ] {
            #expect(
                relative(html, to: path)
                    == #"<link href="\#(root)a.css"><script src="\#(root)b.js"></script>"#
                    + #"<a class="c" href="\#(root)ops?tab=system">"#)
        }
        #expect(relative("<a\nhref=\"/x\">", to: "/ops") == "<a\nhref=\"./x\">")
        for html in [
            #"<a href="//other.example/x">"#, #"<a href="https://other.example/">"#, #"<a href="x">"#,
            ##"<a href="#x">"##,
            #"<a data-href="/x">"#, #"<p>href="/"#, "", "<p>", #"<a href="/"#,
        ] {
            #expect(relative(html, to: "/track/job-1") == html)
        }
    }

    @Test func `text from outside never becomes markup, and JSON never closes its element`() {
        #expect(#"<a href="x" title='y'>&"#.escaped == "&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;")
        let json = Array(#"{"text":"</script><script>alert(1)</script>&<!--"}"#.utf8)
        let html = Self.filled("<body></body>") { $0.add(json: json, as: "first") }
        #expect(html.contains(#"<script type="application/json" id="first">{"text":"\u003c/script\u003e"#))
        #expect(html.matches(of: /<\/script>/).count == 1 && !html.contains("<!--"))
    }
}
