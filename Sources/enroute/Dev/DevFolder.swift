// The folder that `enroute dev` fills for a developer's apps and commands: the gateway's URL, tokens, their secret,
// enroute.js and an example. Only its owner may enter it, because tokens are credentials even on this machine.

import Foundation
import WebAssets

/// A folder that exists while `enroute dev` runs.
struct DevFolder {
    /// An absolute path.
    let path: String

    static let name = ".enroute-dev"
    /// The file with the gateway's URL and the tokens, which `enroute job` and `enroute rider` read.
    static let credentials = "client.json"
    /// The file that shows that `enroute dev` created the folder.
    static let marker = "CREATED-BY-ENROUTE-DEV"

    /// Whether the folder already existed, empty.
    private let isForeign: Bool
    private let use: ExclusiveFile

    /// - Parameter path: relative to the current folder, or absolute.
    /// - Throws: `ConfigurationError` if something else is at the path, or if another `enroute dev` uses it. Other
    ///   files are therefore never overwritten or removed.
    init(path: String) throws {
        self.path = URL(filePath: path).standardizedFileURL.path.trimmingSuffix("/")
        let content = try? FileManager.default.contentsOfDirectory(atPath: self.path)
        let isOurs =
            content.map { $0.isEmpty || $0.contains(Self.marker) } ?? !FileManager.default.fileExists(atPath: self.path)
        guard isOurs else {
            throw ConfigurationError(
                description:
                    "\(self.path) exists, and enroute dev did not create it. Name another folder with --folder.")
        }
        self.isForeign = content?.isEmpty == true
        let path = self.path
        // The marker is written first, so that a start can be repeated after it was interrupted.
        let use = try Self.creating(path) {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            return try ExclusiveFile(
                path: "\(path)/\(Self.marker)", text: "enroute dev removes its files from this folder when it ends.\n")
        }
        guard let use else {
            throw ConfigurationError(
                description: "Another enroute dev uses \(self.path). Stop it, or name another folder with --folder.")
        }
        self.use = use
    }

    private static func creating<Value>(_ path: String, _ body: () throws -> Value) throws -> Value {
        do { return try body() } catch {
            throw ConfigurationError(
                description:
                    "\(path) cannot be written: \(error.localizedDescription) Start enroute dev in a folder "
                    + "that you may write to, or name one with --folder.")
        }
    }

    /// Writes all files. An earlier `enroute dev` may have left some.
    func write(_ guide: DevGuide, _ signing: DevSigning) throws {
        let own: [(name: String, data: Data)] = [
            (Self.credentials, try guide.credentials.encoded), (DevSigning.file, try signing.encoded),
            ("follow.mjs", Data(Self.example.utf8)),
            ("package.json", Data(Self.package.utf8)),
        ]
        for (name, data) in own + Self.modules.map({ ($0, Data(EmbeddedFiles.pages[$0] ?? [])) }) {
            try Self.creating(self.path) {
                try data.write(to: URL(filePath: "\(self.path)/\(name)"), options: .atomic)
                try FileManager.default.setAttributes(
                    [.posixPermissions: 0o600], ofItemAtPath: "\(self.path)/\(name)")
            }
        }
    }

    /// Removes the files, the marker last. Removes the folder too, unless it contains other files or existed before.
    func remove() {
        for name in [Self.credentials, DevSigning.file, "follow.mjs", "package.json"] + Self.modules + [Self.marker] {
            try? FileManager.default.removeItem(atPath: "\(self.path)/\(name)")
        }
        if !self.isForeign { rmdir(self.path) }
    }

    /// The files of enroute.js.
    private static var modules: [String] { EmbeddedFiles.pages.keys.filter { $0.hasPrefix("enroute") }.sorted() }

    /// Tells Node.js to treat the files as modules, and lets an app install the folder.
    private static let package = """
        {"name": "@enroute/client", "private": true, "type": "module", "exports": {".": "./enroute.js", "./*": "./enroute-*.js"}}

        """

    private static let example = """
        // Follows a job with enroute.js: node follow.mjs <job>. URL and CUSTOMER are variables that enroute dev printed.
        import {createRequire} from 'node:module';
        import {Enroute} from './enroute.js';

        // Node.js has a WebSocket of its own since version 22. Before, the package ws provides one.
        const fromPackage = () => {
          const require = createRequire(import.meta.url);
          for (const name of ['ws', '/usr/share/nodejs/ws/index.js']) {
            try { return require(name).WebSocket; } catch {}
          }
          throw new Error('This Node.js has no WebSocket. Use version 22 or newer, or install the package ws.');
        };

        const enroute = new Enroute({
          url: `${process.env.URL}/v1`,
          credential: async () => ({token: process.env.CUSTOMER}),
          WebSocket: globalThis.WebSocket ?? fromPackage(),
        });
        enroute.follow(process.argv[2], (view) => {
          const place = view.position ? `${view.position.lat}, ${view.position.lon}` : 'no position';
          console.log(view.refused ?? `${view.status}, ${view.tracking}, ${place}`);
        });
        enroute.start();    // reconnects and resumes until the process ends

        """
}

/// The URL of a gateway for development, and tokens for it.
struct DevCredentials: Codable, Equatable {
    /// Without a trailing slash.
    var url: String
    /// By role: customer, rider, service, ops.
    var tokens: [String: String]

    init(url: String, tokens: [String: String]) { (self.url, self.tokens) = (url, tokens) }

    /// - Returns: `nil` if `enroute dev` is not running.
    static func stored(in folder: String) throws -> Self? {
        let path = "\(folder)/\(DevFolder.credentials)"
        guard let data = FileManager.default.contents(atPath: path) else { return nil }
        guard let credentials = try? Self(data) else {
            throw ConfigurationError(description: "\(path) is not a file of enroute dev. Restart enroute dev.")
        }
        return credentials
    }

    /// The URL for WebSockets; `url` starts with http.
    var webSocketURL: String { "ws" + self.url.dropFirst("http".count) }

    init(_ json: Data) throws { self = try JSONDecoder().decode(Self.self, from: json) }

    var encoded: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return try encoder.encode(self) + Data("\n".utf8)
        }
    }
}

extension String {
    fileprivate func trimmingSuffix(_ suffix: String) -> String {
        self.count > suffix.count && self.hasSuffix(suffix) ? String(self.dropLast(suffix.count)) : self
    }
}
