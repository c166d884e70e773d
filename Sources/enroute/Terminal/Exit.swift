// Exit codes of commands (sysexits.h), and the errors that lead to them.

import Access
import ArgumentParser
import Foundation
import Gateway
import TrafficControl
import Journeys
import LiveState
import Logging
import Redis
import SecureSocket
import Streets
import Telemetry

extension ExitCode {
    static let unusableInput = ExitCode(65)
    static let unavailable = ExitCode(69)
    static let notPermitted = ExitCode(77)
    static let wrongConfiguration = ExitCode(78)
}

/// Runs the body of a command. Prints an error to standard error and throws the exit code for it.
nonisolated(nonsending) func exitingCleanly(_ body: () async throws -> Void) async throws {
    do {
        try await body()
        if Output.hasFailed { throw ExitCode.failure }
    } catch {
        guard let code = exitCode(of: error) else { throw error }
        // An error of the configuration may have several lines.
        for line in "\(error)\(advice(on: error))".split(separator: "\n") { Output.complain("enroute: \(line)\n") }
        throw code
    }
}

/// Runs the part of a command that logs. If the log is JSON, the error that ends the command is logged as a line of it,
/// because collectors drop lines that are not JSON. Otherwise `exitingCleanly` prints the error.
nonisolated(nonsending) func loggingFailure(
    _ logger: Logger, as format: LogFormat, _ body: () async throws -> Void
) async throws {
    do {
        try await body()
    } catch {
        guard format == .json, let code = exitCode(of: error) else { throw error }
        logger.critical("exiting after an error", metadata: [LogKey.reason: "\(error)\(advice(on: error))"])
        throw code
    }
}

/// Advice on an error of a library that does not know the names of settings.
private func advice(on error: any Error) -> String {
    switch error {
    case GatewayServer.StartFailure.portTaken(_, _, let isManagement):
        isManagement
            ? " Choose another one with ENROUTE_MANAGEMENT_PORT, or set ENROUTE_MANAGEMENT=off."
            : " Choose another one with --port or ENROUTE_LISTEN_PORT."
    case GatewayServer.StartFailure.notBound(_, _, let isManagement, _):
        isManagement
            ? " Choose another address with ENROUTE_MANAGEMENT_HOST and ENROUTE_MANAGEMENT_PORT, or set "
                + "ENROUTE_MANAGEMENT=off."
            : " Choose another address with --host and --port, or ENROUTE_LISTEN_HOST and ENROUTE_LISTEN_PORT."
    default: ""
    }
}

/// - Returns: `nil` for errors that ArgumentParser reports itself.
func exitCode(of error: any Error) -> ExitCode? {
    switch error {
    case is ExitCode, is ValidationError, is CleanExit: nil
    case is JourneyError, is StreetFileError, is StreetInputError, is NoSuchLink: .unusableInput
    // The certificate may already be valid: after a boot, this machine's clock is wrong until it has been synchronized.
    case TLSConfigurationError.notYetValid: .unavailable
    case is ConfigurationError, is TokenVerifier.Key.InvalidSetting, is TLSConfigurationError,
        is RedisAddress.Malformed,
        is TrustedProxies.Malformed, is AuditStreams.NotAStream,
        is AllowedOrigins.Malformed:
        .wrongConfiguration
    case let error as RedisError: error.isOutage ? .unavailable : .wrongConfiguration
    case is GatewayServer.StartFailure, is Unavailable: .unavailable
    case let refusal as GatewayRefusal:
        refusal.isForbidden ? .notPermitted : refusal.isPassing ? .unavailable : .failure
    default: .failure
    }
}

/// A required service is unavailable. The text contains advice.
struct Unavailable: Error, CustomStringConvertible {
    let description: String
}

/// A setting is invalid or missing. The text contains its name and the allowed values.
struct ConfigurationError: Error, CustomStringConvertible {
    let description: String
    /// Whether a required setting is missing, rather than invalid.
    var isMissing = false
}

/// Prints a line to standard output, unbuffered.
func say(_ line: String) { Output.say(line + "\n") }
