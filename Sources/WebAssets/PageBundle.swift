// Bundles a page's script and everything it imports into one file: a page that loads twenty files fails when one of them is
// lost, which happens often on mobile networks. Each module becomes a function whose exports are stored in a constant. The
// bundler understands only the forms that our own modules use. If a deployment's own file uses another form, there is no
// bundle and the modules are sent one by one.

/// Bundles modules into one.
struct PageBundle {
    /// The text of the module with this name, or `nil` if no such module exists.
    let source: (String) -> [UInt8]?

    private var parts: [String] = []
    private var places: [String: Place] = [:]

    private enum Place { case open, done }

    /// A module without its imports and its `export` keywords.
    private struct Module {
        var lines: [String] = []
        var imports: [(names: String, from: String)] = []
        var exports: [String] = []
    }

    /// A module is missing, imports itself, or uses a form that the bundler does not understand.
    private struct Unbundled: Error {}

    private init(source: @escaping (String) -> [UInt8]?) { self.source = source }

    /// Returns the bundle of a module and its imports.
    ///
    /// - Parameters:
    ///   - entry: the name of the module that a page loads.
    ///   - source: returns the text of a module by name.
    /// - Returns: one module without imports and exports, or `nil` if one is missing or cannot be bundled. Cost: O(bytes).
    static func script(of entry: String, source: @escaping (String) -> [UInt8]?) -> [UInt8]? {
        var bundle = PageBundle(source: source)
        guard (try? bundle.add(entry)) != nil else { return nil }
        return Array(bundle.parts.joined().utf8)
    }

    private mutating func add(_ name: String) throws {
        switch self.places[name] {
        case .done: return
        case .open: throw Unbundled()
        case nil: break
        }
        self.places[name] = .open
        guard let bytes = self.source(name) else { throw Unbundled() }
        let module = try Self.module(String(decoding: bytes, as: UTF8.self))
        for (_, from) in module.imports { try self.add(from) }
        let taken = module.imports.map { "const {\($0.names)} = \(Self.constant($0.from));\n" }.joined()
        self.parts.append(
            "const \(Self.constant(name)) = (() => {\n\(taken)\(module.lines.joined(separator: "\n"))\n"
                + "return {\(module.exports.joined(separator: ", "))};\n})();\n")
        self.places[name] = .done
    }

    /// The constant that holds a module's exports: `$track_words_js`. No module declares such a name.
    private static func constant(_ name: String) -> String {
        "$" + String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }

    // MARK: Parsing a module

    private static func module(_ text: String) throws -> Module {
        var module = Module()
        var statement: String?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            // An import continues to the line that names the module.
            if let begun = statement {
                statement = begun + " " + line
            } else if line.hasPrefix("import") {
                statement = String(line)
            } else {
                module.lines.append(try Self.withoutExport(line, &module.exports))
                continue
            }
            guard let whole = statement, whole.hasSuffix(";") else { continue }
            module.imports.append(try Self.imported(whole))
            statement = nil
        }
        guard statement == nil else { throw Unbundled() }
        return module
    }

    /// Parses `import {a, b as c} from './module.js';`.
    private static func imported(_ statement: String) throws -> (names: String, from: String) {
        let (opening, middle, end) = ("import {", "} from './", "';")
        guard statement.hasPrefix(opening), statement.hasSuffix(end), let names = statement.firstIndex(of: "}"),
            statement[names...].hasPrefix(middle)
        else { throw Unbundled() }
        let from = statement[names...].dropFirst(middle.count).dropLast(end.count)
        guard !from.contains("/"), !from.contains("'") else { throw Unbundled() }
        let list = statement[..<names].dropFirst(opening.count)
        let taken = try Self.names(list).map { own, other in own == other ? own : "\(own): \(other)" }
        return (taken.joined(separator: ", "), String(from))
    }

    /// Parses `a, b as c` into the name in the module and the name here.
    private static func names(_ list: Substring) throws -> [(own: String, other: String)] {
        try list.split(separator: ",").map { $0.split(separator: " ") }.filter { !$0.isEmpty }.map { words in
            guard words.count == 1 || words.count == 3 && words[1] == "as" else { throw Unbundled() }
            return (String(words[0]), String(words[words.count - 1]))
        }
    }

    /// Removes `export` from a statement and adds what it exported, as a member of an object.
    private static func withoutExport(_ line: Substring, _ exports: inout [String]) throws -> String {
        // A top-level `await` is not possible in a function.
        if line.hasPrefix("await") { throw Unbundled() }
        guard line.hasPrefix("export") else { return String(line) }
        guard line.hasPrefix("export ") else { throw Unbundled() }
        let rest = line.dropFirst("export ".count)
        if rest.hasPrefix("{") {
            guard rest.hasSuffix("};") else { throw Unbundled() }
            exports += try Self.names(rest.dropFirst().dropLast(2)).map { own, other in
                own == other ? own : "\(other): \(own)"
            }
            return ""
        }
        // Only constants, functions and classes: another module would not see a variable change.
        for declaration in ["const ", "function ", "async function ", "class "] where rest.hasPrefix(declaration) {
            let name = rest.dropFirst(declaration.count).prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "$" }
            guard !name.isEmpty else { throw Unbundled() }
            exports.append(String(name))
            return String(rest)
        }
        throw Unbundled()
    }
}
