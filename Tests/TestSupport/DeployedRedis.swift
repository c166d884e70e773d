// A redis-server that runs with the files of deploy/redis, with a password for each user.

package import Embedded
package import Redis

package import FoundationEssentials
private import Crypto

/// The files for one Redis role.
package enum DeployedRedis: String, CaseIterable, Sendable {
    case live, ledger

    /// The password of the users in tests.
    package static let password = "password-of-the-tests"

    /// deploy/redis in the checkout, located relative to this file.
    package static let folder: String = {
        var folder = #filePath[...]
        while let slash = folder.lastIndex(of: "/") {
            folder = folder[..<slash]
            if FileManager.default.fileExists(atPath: folder + "/deploy/redis/live.conf") { break }
        }
        return folder + "/deploy/redis"
    }()

    package var configurationPath: String { "\(Self.folder)/\(self.rawValue).conf" }
    package var accessListPath: String { "\(Self.folder)/\(self.rawValue).acl" }

    /// The lines of a file in that folder, for example `live.acl`.
    package static func text(_ name: String) throws -> String {
        guard let bytes = FileManager.default.contents(atPath: "\(self.folder)/\(name)") else {
            throw CocoaError(.fileNoSuchFile)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Runs a server while `body` runs.
    package func run<Result: Sendable>(
        options: [String] = [], _ body: (RedisServer) async throws -> Result
    ) async throws -> Result {
        try await Turns.servers.take { try await self.runBeside(options: options, body) }
    }

    /// The same inside the body of another server, whose turn it shares. Waiting for a second turn there could deadlock.
    package func runBeside<Result: Sendable>(
        options: [String] = [], _ body: (RedisServer) async throws -> Result
    ) async throws -> Result {
        let list = FileManager.default.temporaryDirectory.appending(path: "enroute-\(UUID()).acl")
        defer { try? FileManager.default.removeItem(at: list) }
        try self.writeAccessList(to: list)
        return try await RedisServer.running(
            configuration: self.configurationPath, options: ["--aclfile", list.path] + options, body)
    }

    /// The ACL file, with the test password for every user that has one.
    package func writeAccessList(to list: URL) throws {
        let hash = SHA256.hash(data: Data(Self.password.utf8)).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }.joined()
        let text = try Self.text("\(self.rawValue).acl").split(separator: "\n").map { line in
            line.replacing(" on ", with: " on #\(hash) ")
        }.joined(separator: "\n")
        try Data((text + "\n").utf8).write(to: list)
    }
}

extension RedisServer {
    /// The address for one of the users of deploy/redis.
    package func address(for user: String) -> RedisAddress {
        var address = self.address
        (address.user, address.password) = (user, DeployedRedis.password)
        return address
    }
}
