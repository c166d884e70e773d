// A real proxy, HAProxy or nginx, as a process in front of a gateway.

import Foundation
import Subprocess
import SystemPackage
import TestSupport

enum RunningProxy: String, CaseIterable, Sendable {
    case haproxy = "/usr/sbin/haproxy"
    case nginx = "/usr/sbin/nginx"

    /// Runs the proxy for as long as `body` does.
    ///
    /// - Parameter configuration: the proxy's own format, for a folder of its own and the port to listen on.
    func run(
        _ configuration: (_ folder: String, _ port: Int) -> String,
        _ body: @escaping @Sendable (_ port: Int) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-proxy-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let port = try await freePort()
        let file = "\(folder)/proxy.conf"
        try configuration(folder, port).write(toFile: file, atomically: true, encoding: .utf8)
        let arguments =
            switch self {
            case .haproxy: ["-db", "-q", "-f", file]
            case .nginx: ["-c", file, "-p", folder]
            }
        var platform = PlatformOptions()
        platform.teardownSequence = [.send(signal: .kill, allowedDurationToNextStep: .seconds(1))]
        _ = try await Subprocess.run(
            .path(FilePath(self.rawValue)), arguments: Arguments(arguments), platformOptions: platform,
            input: .none, output: .discarded, error: .discarded
        ) { execution in
            defer { kill(execution.processIdentifier.value, SIGKILL) }
            try await becomes("\(self) listens") { (try? RawSocket(port: port)) != nil }
            try await body(port)
        }
    }
}
