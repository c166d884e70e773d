// How a command ends: what is said, and the code (sysexits.h).

import Access
import ArgumentParser
import Foundation
import Gateway
import TrafficControl
import Journeys
import Redis
import SecureSocket

extension ExitCode {
    static let unusableInput = ExitCode(65)
    static let unavailable = ExitCode(69)
    static let wrongConfiguration = ExitCode(78)
}

/// Runs the body of a command; what goes wrong is said on standard error, and decides the exit code.
nonisolated(nonsending) func exitingCleanly(_ body: () async throws -> Void) async throws {
    do {
        try await body()
        if Output.hasLostSomething { throw ExitCode.failure }
    } catch {
        guard let code = exitCode(of: error) else { throw error }
        Output.complain("enroute: \(error)\n")
        throw code
    }
}

/// - Returns: `nil` for what ArgumentParser reports by itself.
func exitCode(of error: any Error) -> ExitCode? {
    switch error {
    case is ExitCode, is ValidationError, is CleanExit: nil
    case is JourneyError: .unusableInput
    case is ConfigurationError, is TokenVerifier.Key.InvalidSetting, is TLSConfigurationError,
        is RedisAddress.Malformed,
        is TrustedProxies.Malformed,
        is AllowedOrigins.Malformed:
        .wrongConfiguration
    case let error as RedisError: error.isOutage ? .unavailable : .wrongConfiguration
    case is GatewayServer.StartFailure, is Unavailable: .unavailable
    default: .failure
    }
}

/// Something outside that is needed and not there; the text says what to do.
struct Unavailable: Error, CustomStringConvertible {
    let description: String
}

/// A setting that can not be used; the text names it and says how it should be.
struct ConfigurationError: Error, CustomStringConvertible {
    let description: String
    /// Nothing is set where something must be; not that it is set wrong.
    var isMissing = false
}

/// A line for people, on standard output, at once.
func say(_ line: String) { Output.say(line + "\n") }
