import Foundation
import Testing

/// Generic code that is called per message is specialized for its types (Sources/Fanout/decisions).
@Suite struct GenericTests {
    /// Generic types and functions that other targets call through runtime metadata, and why that does not matter.
    private static let cold = [
        "Timeout.swift withTimeout": "once per request to another service",
        "ArrivalRouting.swift with": "once per calculation that queries services",
        "HashSlot.swift of": "called inside Redis, which has specialized copies",
        "JSONDocument.swift bytes": "responses to requests",
        "JSONDocument.swift value": "responses to requests",
        "Problem.swift response": "refused requests",
        "Durable": "once per write that waits for a replica",
        "Reading": "explanations, which operations staff request",
        "ResyncScheduler": "once per job and 5 s, but not per message",
        "KeyedLogThrottle": "once for what is logged",
        "SharedBuckets": "once when a session begins and ends: it keeps the buckets it takes from",
    ]

    @Test func `code that Realtime calls is not generic, or is inlinable and public, or is rarely called`() throws {
        let targets = try Self.importedByRealtime()
        #expect(targets.contains("Fanout") && targets.contains("Resilience"))
        for file in try targets.sorted().flatMap({ try Project.files("Sources/\($0)", ".swift") }) {
            for generic in GenericDeclaration.all(in: file) where !generic.isSpecialised {
                let reason = Self.cold[generic.type ?? "\(file.name) \(generic.name)"]
                #expect(
                    reason != nil,
                    "\(file.path): \(generic.name) is generic: make it `@inlinable public` or non-generic")
            }
        }
        let sources = try Project.files("Sources", ".swift")
        for name in Self.cold.keys {
            let words = name.split(separator: " ")
            let declarations = ["class ", "struct ", "enum ", "func "].map { $0 + String(words.last ?? "") }
            #expect(
                sources.contains { file in
                    (words.count == 1 || file.name == words[0]) && declarations.contains { file.contains($0) }
                },
                "\(name) no longer exists: remove it from the list")
        }
    }

    @Test func `the check distinguishes specialized generic code from code called through metadata`() {
        let file = Project.File(
            path: "Box.swift",
            text: """
                public struct Box<Element: Hashable> {
                    public let kept: Int
                    @inlinable
                    public init() {}
                    package var isEmpty: Bool { true }
                    private func own() {}
                }
                package func twice<Value>(_ value: Value) -> (Value, Value) { (value, value) }
                package func sum(
                    _ numbers: some Sequence<Int>
                ) -> Int { 0 }
                package func plain(_ numbers: [Int]) -> some Sequence<Int> { numbers }
                """)
        let found = GenericDeclaration.all(in: file)
        #expect(found.map(\.name) == ["init", "isEmpty", "twice", "sum"])
        #expect(found.map(\.isSpecialised) == [true, false, false, false])
    }

    /// The targets that files of Realtime import.
    private static func importedByRealtime() throws -> Set<String> {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Project.root.appending(path: "Sources").path)
        let imports = try Project.files("Sources/Realtime", ".swift").flatMap { file in
            file.imports
        }
        // In the published library each generic is public, so the compiler can specialize it.
        return Set(imports).intersection(folders).subtracting(["EnrouteWire"])
    }
}

/// A function, initializer or computed property that is generic, directly or through its type, and that other targets
/// can call.
private struct GenericDeclaration {
    let name: String
    /// The generic type it belongs to.
    let type: String?
    let isSpecialised: Bool

    static func all(in file: Project.File) -> [GenericDeclaration] {
        var found: [GenericDeclaration] = []
        /// The last line of the generic type being read.
        var (end, owner): (String?, String?) = (nil, nil)
        let lines = file.lines
        for (index, line) in lines.enumerated() where !line.isEmpty {
            let code = line.utf8.drop { $0 == UInt8(ascii: " ") }
            // Most lines are neither, and regular expressions are slow in debug builds.
            let mayDeclare = ["public ", "package ", "@"].contains { code.starts(with: $0.utf8) }
            guard mayDeclare || String(line) == end else { continue }
            if String(line) == end { (end, owner) = (nil, nil) }
            if end == nil,
                let type = line.firstMatch(of: /^( *)(?:public|package) (?:final )?(?:struct|class|enum|actor) (\w+)</)
            {
                (end, owner) = (type.1 + "}", String(type.2))
            }
            guard let declaration = line.firstMatch(of: Self.declaration) else { continue }
            let signature = lines[index...].prefix(12).joined(separator: " ").prefix { $0 != "{" }
            let parameters = signature.split(separator: "->", maxSplits: 1).first ?? signature
            let isProperty = declaration.1 == "var"
            if isProperty, end == nil || !line.contains("{") { continue }
            guard end != nil || parameters.firstMatch(of: /(func \w+|init)<|[(: ]some [A-Z]/) != nil else { continue }
            let before = lines[max(0, index - 2)..<index].contains { $0.contains("@inlinable") }
            found.append(
                GenericDeclaration(
                    name: String(declaration.2 ?? declaration.1), type: owner,
                    isSpecialised: before && line.contains("public ")))
        }
        return found
    }

    private static var declaration: Regex<(Substring, Substring, Substring?)> {
        /^ *(?:@\w+ )?(?:public|package) (?:static |mutating |consuming |borrowing |convenience |nonisolated\(nonsending\) )*(func|init|var)(?: (\w+))?/
    }
}
