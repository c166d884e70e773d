// enroute token inspect: explains whether a gateway with these settings accepts a token, and why. It uses the gateway's own
// verifier and never prints the token.

import Access
import ArgumentParser
import EnrouteWire
import Foundation

struct InspectTokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Explains what a token permits, or why it is refused.",
        usage: "enroute token inspect [<token>] [--json] [--config <file>]",
        discussion: wrappable(
            """
            Verifies a token as a gateway with the same settings does, and fetches the issuer's keys if necessary. Reads the
            token from standard input unless it is an argument: other users of this machine can see arguments.
            Revocations are not checked, because they are in Redis. The token itself is never printed.

            Exit codes: 0 the token is accepted, 65 it is refused, 69 the issuer's keys cannot be fetched, 78 invalid
            configuration.

            Examples:
              enroute token inspect < rider.token
              enroute token inspect --config enroute.env --json < rider.token
            """))

    @Argument(help: "The token. Without it, standard input is read.")
    var token: String?

    @Flag(help: "Prints a JSON object.")
    var json = false

    @Option(help: configurationFileHelp)
    var config: String?

    func run() async throws {
        try await exitingCleanly {
            var configuration = try ProcessConfiguration(file: self.config, command: "token")
            if self.config == nil { configuration = try configuration.withSecretOfDev() }
            let (verifier, keys) = try await configuration.tokens()
            let token = try self.token ?? Self.standardInput()
            let now = Int64(Date.now.timeIntervalSince1970)
            let explanation = TokenExplanation(
                token: token, unverified: try? UnverifiedToken(token), verifier: verifier,
                outcome: await Self.outcome(token, verifier, keys, now), now: now)
            say(self.json ? try explanation.json : explanation.text)
            switch explanation.refusal?.reason {
            case nil: break
            case .keyUnavailable: throw ExitCode.unavailable
            default: throw ExitCode.unusableInput
            }
        }
    }

    private static func outcome(
        _ token: String, _ verifier: TokenVerifier, _ keys: IssuerKeys?, _ now: Int64
    ) async -> Result<Grant, TokenRefusal> {
        do throws(TokenRefusal) {
            guard let keys else { return .success(try verifier.verify(token, now: now)) }
            return .success(try await keys.verify(token, now: now))
        } catch {
            return .failure(error)
        }
    }

    /// The first line of standard input, also in the form of an Authorization header.
    private static func standardInput() throws -> String {
        // A closed standard input, or a folder, contains no token either.
        let bytes = (try? FileHandle.standardInput.read(upToCount: 4 * TokenVerifier.longestToken)) ?? Data()
        let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.isEmpty else {
            throw ValidationError("There is no token on standard input. Usage: enroute token inspect < rider.token")
        }
        return text.replacing(/^(?i)(authorization: *)?bearer +/, with: "")
    }
}
