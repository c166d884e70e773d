import Foundation
import Testing

@testable import WebAssets

/// D5: a page's script is one file, whatever modules it consists of.
@Suite struct PageBundleTests {
    private func script(_ entry: String, _ modules: [String: String]) -> String? {
        PageBundle.script(of: entry) { modules[$0].map { Array($0.utf8) } }.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `D5: a bundle contains every module once, after its imports and in its own scope`() throws {
        let script = try #require(
            self.script(
                "a.js",
                [
                    "a.js": "import {\n  one, two as zwei,\n} from './b.js';\nimport {three} from './c.js';\nsay(one);",
                    "b.js":
                        "import {three} from './c.js';\nexport const one = three;\nexport {x as two};\nconst x = 2;",
                    "c.js": "export async function three() {}\nexport class Four {}",
                ]))
        let places = ["const $c_js = ", "const $b_js = ", "const $a_js = "].map { script.ranges(of: $0) }
        #expect(places.map(\.count) == [1, 1, 1])
        #expect(places[0][0].lowerBound < places[1][0].lowerBound && places[1][0].lowerBound < places[2][0].lowerBound)
        #expect(script.contains("const {one, two: zwei} = $b_js;") && script.contains("return {one, two: x};"))
        #expect(script.contains("return {three, Four};") && script.contains("\nasync function three() {}"))
        #expect(!script.contains("import") && !script.contains("export"))
    }

    /// Such a module is sent unchanged, and the browser loads its imports.
    @Test(arguments: [
        "import x from './b.js';", "import * as x from './b.js';", "import './b.js';", "import {a} from './none.js';",
        "import {a} from 'https://elsewhere.example/b.js';", "import {a} from '../b.js';", "export default 1;",
        "export * from './b.js';", "export let a = 1;", "export {a} from './b.js';", "export const {a} = b;",
        "await a;", "import {a as} from './b.js';", "import {a} from './a.js';", "import {a}",
    ])
    func `D5: a module with an unsupported form is not bundled`(module: String) {
        #expect(self.script("a.js", ["a.js": module, "b.js": "export const a = 1;"]) == nil)
    }

    @Test func `D5: each page loads one script without imports, even with a replaced module`() throws {
        for entry in PageFiles.entries {
            let file = try #require(PageFiles(folder: nil)[entry])
            let text = String(decoding: file.bytes, as: UTF8.self)
            #expect(!text.split(separator: "\n").contains { $0.hasPrefix("import") || $0.hasPrefix("export") })
            #expect(text.contains("$page_js") && file.tag != nil && file.gzip != nil)
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-test-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = PageFiles(folder: folder.path)
        #expect(files["track.js"]?.tag == PageFiles(folder: nil)["track.js"]?.tag)
        let own = folder.appending(path: "track-words.js")
        try Data("export const words = {en: {brand: 'Pizza'}};\n".utf8).write(to: own)
        let file = try #require(files["track.js"])
        #expect(String(decoding: file.bytes, as: UTF8.self).contains("{brand: 'Pizza'}") && file.tag == nil)
        try Data("export default {};\n".utf8).write(to: own)
        #expect(String(decoding: try #require(files["track.js"]).bytes, as: UTF8.self).contains("import {words as"))
    }
}
