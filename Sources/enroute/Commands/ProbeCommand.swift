// enroute probe: queries whether the gateway of this machine or container is ready, or alive. Slim images have no curl.

import ArgumentParser
import OutboundHTTP

struct ProbeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "probe",
        abstract: "Checks whether a gateway on this machine is ready.",
        usage: "enroute probe [<options>]",
        discussion: wrappable(
            """
            For health checks of containers. It requests /readyz (with --live, /livez) from the management listener of the
            gateway that uses the same configuration, and prints the response. A gateway that is stopping or overloaded, or
            has not reached Redis yet, is not ready, but it is alive. Restart a gateway that is not alive; send no clients to
            one that is not ready. Exit codes: 0 yes, 1 no, 69 no response within \(Self.longestWaitSeconds) s, 78 invalid
            configuration.

            Examples:
              enroute probe
              enroute probe --live --config /etc/enroute/gateway.env
            """))

    /// Shorter than usual timeouts of health checks, so that the health check shows the reason.
    private static let longestWaitSeconds = 3
    /// The responses are one line.
    private static let longestAnswerBytes = 4096

    @Flag(
        name: .customLong("live"), help: "Check whether the process responds at all, rather than whether it is ready.")
    var isLiveness = false

    @Option(help: configurationFileHelp)
    var config: String?

    func run() async throws {
        try await exitingCleanly {
            let authority = try ProcessConfiguration(file: self.config, command: "probe").managementAuthority()
            let path = self.isLiveness ? "/livez" : "/readyz"
            let http = try OutboundHTTP(
                longestWait: .seconds(Self.longestWaitSeconds), longestAnswer: Self.longestAnswerBytes)
            let response: OutboundResponse
            do {
                response = try await http.send(OutboundRequest(url: "http://\(authority)\(path)"))
            } catch {
                throw Unavailable(
                    description: "\(authority) does not respond (\(error)). Is the gateway running, and with the same "
                        + "ENROUTE_MANAGEMENT_HOST and ENROUTE_MANAGEMENT_PORT?")
            }
            say(String(decoding: response.body, as: UTF8.self).split(separator: "\n").first.map(String.init) ?? "")
            guard response.status == 200 else { throw ExitCode.failure }
        }
    }
}

extension ProcessConfiguration {
    /// The address and port at which a process on the same machine reaches the management listener.
    func managementAuthority() throws -> String {
        guard let (host, port) = try self.management() else {
            throw ConfigurationError(
                description: "ENROUTE_MANAGEMENT is off, so the gateway has no management listener. Set it to on.")
        }
        guard port > 0 else {
            throw ConfigurationError(
                description: "ENROUTE_MANAGEMENT_PORT is 0, so only the gateway knows its port. Set a port.")
        }
        let reachable =
            switch host {
            case "0.0.0.0": "127.0.0.1"
            case "::": "::1"
            default: host
            }
        return (reachable.contains(":") ? "[\(reachable)]" : reachable) + ":\(port)"
    }
}
