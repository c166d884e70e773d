import Foundation
import Testing

/// Relative links in Markdown lead to a file, and to a heading in it.
@Suite struct LinkTests {
    /// A link, with the place where it is written.
    private struct Link {
        let place: String
        /// From the top of the project.
        let path: String
        let anchor: String?
    }

    @Test func `every relative link in Markdown leads to a file and to a heading in it`() throws {
        let documents = try Project.texts { $0.hasSuffix(".md") }
        #expect(documents.count > 30)
        let anchors = Dictionary(uniqueKeysWithValues: documents.map { ($0.path, Self.anchors($0)) })
        var broken: [String] = []
        for link in documents.flatMap(Self.links) {
            guard FileManager.default.fileExists(atPath: Project.root.appending(path: link.path).path) else {
                broken.append("\(link.place): there is no \(link.path)")
                continue
            }
            guard let anchor = link.anchor, let there = anchors[link.path] else { continue }
            if !there.contains(anchor) { broken.append("\(link.place): \(link.path) has no heading #\(anchor)") }
        }
        #expect(broken.isEmpty, "\(broken.joined(separator: "\n"))")
    }

    @Test func `headings get the anchors that GitHub gives them`() {
        let document = Project.File(
            path: "a.md",
            text: """
                # Redis: a client, for *one* node
                ## `what` a_link (RFC 9457) does
                ## Twice
                ```sh
                # a comment
                ```
                ## Twice
                <a id="given"></a>
                """)
        #expect(
            Self.anchors(document)
                == ["redis-a-client-for-one-node", "what-a_link-rfc-9457-does", "twice", "twice-1", "given"])
    }

    /// Links outside of code, except those to other hosts.
    private static func links(_ document: Project.File) -> [Link] {
        let folder = document.path.split(separator: "/").dropLast().map(String.init)
        return self.prose(document).flatMap { number, line in
            line.matches(of: /\]\((<?)([^)\s>]+)>?(?:\s+"[^"]*")?\)/).compactMap { match -> Link? in
                let target = String(match.2)
                guard target.firstMatch(of: /^[a-z][a-z+.-]*:|^\/\//) == nil else { return nil }
                let parts = target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
                var path = folder
                for part in parts[0].split(separator: "/") {
                    if part == ".." { path = path.dropLast() } else if part != "." { path.append(String(part)) }
                }
                return Link(
                    place: "\(document.path):\(number)",
                    path: parts[0].isEmpty ? document.path : path.joined(separator: "/"),
                    anchor: parts.count == 2 ? String(parts[1]) : nil)
            }
        }
    }

    private static func anchors(_ document: Project.File) -> Set<String> {
        var (anchors, counts): (Set<String>, [String: Int]) = ([], [:])
        for (_, line) in self.prose(document) {
            for match in line.matches(of: /<a (?:id|name)="([^"]+)"/) { anchors.insert(String(match.1)) }
            guard let heading = line.wholeMatch(of: /#{1,6}\s+(.+?)\s*#*/)?.1 else { continue }
            // The text of a link counts, its address does not.
            let text = heading.replacing(/\[([^\]]*)\]\([^)]*\)/) { $0.1 }.lowercased()
            let kept = text.filter { $0.isLetter || $0.isNumber || "-_ ".contains($0) }
            let slug = kept.replacingOccurrences(of: " ", with: "-")
            let count = counts[slug, default: 0]
            counts[slug] = count + 1
            anchors.insert(count == 0 ? slug : "\(slug)-\(count)")
        }
        return anchors
    }

    /// Lines outside of fenced code, with their numbers.
    private static func prose(_ document: Project.File) -> [(Int, Substring)] {
        var isCode = false
        return document.lines.enumerated().compactMap { index, line in
            if line.drop(while: { $0 == " " }).hasPrefix("```") {
                isCode.toggle()
                return nil
            }
            return isCode ? nil : (index + 1, line)
        }
    }
}
