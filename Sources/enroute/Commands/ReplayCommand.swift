// enroute replay: replays a recorded trip as a rider.

import Access
import ArgumentParser
import EnrouteClient
import EnrouteWire
import Foundation
import Gateway
import Journeys
import Realtime
import Tracking

struct ReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Replays a recorded trip as a rider of a real gateway.",
        usage: "enroute replay <file> --job <job> [<options>]",
        discussion: wrappable(
            """
            Reads GPX 1.1, CSV and NMEA 0183, plain or compressed (.gz). In NMEA, lines that begin with #, proprietary
            sentences ($P...) and unknown ones are skipped. Damaged sentences are skipped, and sentences without a checksum
            are used; a warning counts both. The job must exist, be assigned to this rider, and be in_transit or on_the_way.
            Reports are as frequent as the gateway requests, and never above its limits; fixes in between are skipped. The
            token comes from --token-file or ENROUTE_REPLAY_TOKEN, or is made with ENROUTE_TOKEN_SECRET. In a folder in which
            `enroute dev` runs, its gateway is used, with the token of its rider; with --rider, a token is made with its
            secret.

            Examples:
              enroute replay trip.gpx --job job-1 --rider rider-7
              enroute replay trips.csv.gz --trip 17 --job job-1 --rider rider-7 \\
                --speed 10 --url wss://localhost:8443 --insecure
            """))

    @Argument(help: "The recording: .gpx, .csv or .nmea, or one of these with .gz.")
    var file: String

    @Option(help: "The job.")
    var job: String

    @Option(
        help: ArgumentHelp(
            "The rider for whom a token is made. (default: \(Self.defaultRider); with `enroute dev`, its rider)"))
    var rider: String?

    @Option(
        help: ArgumentHelp("The gateway's URL. (default: \(Self.defaultURL), or that of `enroute dev`)"))
    var url: String?

    @Option(help: "Speed as a multiple of the recorded one, 0.1 to 1000.")
    var speed: Double = 1

    @Option(help: "The trip to use from a CSV file that has several.")
    var trip: String?

    @Option(help: ArgumentHelp("File with the rider's token.", valueName: "file"))
    var tokenFile: String?

    @Option(help: ArgumentHelp("Certificate authorities to trust instead of the system's.", valueName: "pem"))
    var authorities: String?

    @Flag(help: "Trust any certificate. For development only.")
    var insecure = false

    private static let defaultRider = "rider"
    private static let defaultURL = "wss://localhost:8443"

    func validate() throws {
        guard JobID(self.job) != nil else {
            throw ValidationError("--job must be 1 to 64 characters of A-Z a-z 0-9 _ -.")
        }
        guard self.rider.map({ PersonID($0) != nil }) ?? true else {
            throw ValidationError("--rider must be 1 to 64 characters of A-Z a-z 0-9 _ -.")
        }
        guard (0.1...1000).contains(self.speed) else { throw ValidationError("--speed must be 0.1 to 1000.") }
        guard self.url.map({ (try? GatewayAddress($0)) != nil }) ?? true else {
            throw ValidationError(
                "--url must be wss://host[:port], or ws://host[:port] without TLS, with a port from 1 to 65535. A path "
                    + "prefix may follow, but not /v1.")
        }
    }

    func run() async throws {
        try await exitingCleanly {
            let journey = try Journey.load(path: self.file, trip: self.trip)
            let (url, token) = try await self.gateway()
            let rider = Rider(
                url: url, token: token, trust: try self.trust(), job: JobID(self.job)!, journey: journey,
                speed: { [speed] in speed }, followsRequestedRate: true,
                onRefusal: { refusal in
                    Output.complain("refused: \(refusal.code.rawValue): \(refusal.message)\n")
                })
            say(
                "\(journey.name): \(journey.fixes.count) fixes, \(Int(journey.lengthMeters)) m, at \(self.speed) times the recorded speed"
            )
            for warning in journey.warnings { self.warn(warning) }
            let metersPerSecond = journey.averageMetersPerSecond * self.speed
            let plausible = SettingsTable.libraryDefaults.validation.fastestMetersPerSecond
            if metersPerSecond > plausible {
                self.warn(
                    "this is \(Int(metersPerSecond)) m/s on average; above ENROUTE_TRACKING_MAX_PLAUSIBLE_SPEED_MPS "
                        + "(default \(Int(plausible))) a gateway holds fixes back")
            }
            do {
                let summary = try await rider.travel()
                let refused = summary.refused.values.reduce(0, +)
                say(
                    "sent \(summary.sent), skipped \(summary.skipped), accepted \(summary.accepted), refused \(refused), "
                        + "conflated \(max(0, summary.sent - summary.accepted - refused)), "
                        + "reconnected \(summary.reconnects) times")
            } catch let error as ClientError {
                throw Unavailable(description: error.description)
            }
        }
    }

    private func warn(_ text: String) { Output.complain("warning: \(text)\n") }

    /// - Throws: `ConfigurationError` for a file without certificates. The TLS library's error would not name the file.
    private func trust() throws(ConfigurationError) -> ServerTrust {
        if self.insecure { return .anybody }
        guard let authorities else { return .system }
        let advice = "Name a PEM file with the certificates of the authorities to trust."
        guard let bytes = FileManager.default.contents(atPath: authorities) else {
            throw ConfigurationError(
                description: "--authorities names \(authorities), which cannot be read. \(advice)")
        }
        guard String(decoding: bytes, as: UTF8.self).contains("CERTIFICATE-----") else {
            throw ConfigurationError(
                description: "--authorities names \(authorities), which contains no PEM certificate. \(advice)")
        }
        return .authorities(file: authorities)
    }

    /// The gateway's URL, and the rider's token for it.
    private func gateway() async throws -> (url: String, token: String) {
        let configuration = try ProcessConfiguration(file: nil, command: "replay")
        if let token = try self.givenToken(configuration) { return (self.url ?? Self.defaultURL, token) }
        guard let dev = try configuration.dev() else {
            return (self.url ?? Self.defaultURL, try await self.madeToken(configuration))
        }
        let url = dev.credentials.webSocketURL
        guard self.url == nil || self.url.map(ClientOptions.withoutSlash) == url else {
            throw ConfigurationError(
                description:
                    "No token is set for \(self.url ?? ""). Pass --token-file or set ENROUTE_REPLAY_TOKEN or "
                    + "ENROUTE_TOKEN_SECRET; the tokens of enroute dev are for \(url).", isMissing: true)
        }
        if self.rider == nil, let token = dev.credentials.tokens[ClientRole.rider.rawValue] { return (url, token) }
        return (url, try await self.madeToken(dev.configuration))
    }

    private func givenToken(_ configuration: ProcessConfiguration) throws -> String? {
        guard let tokenFile else { return configuration.text("ENROUTE_REPLAY_TOKEN") }
        do throws(SecretFile.Fault) {
            return try SecretFile.read(tokenFile, setting: "--token-file")
        } catch {
            throw ConfigurationError(description: error.description)
        }
    }

    private func madeToken(_ configuration: ProcessConfiguration) async throws -> String {
        let secret = try configuration.required(
            "ENROUTE_TOKEN_SECRET",
            "the secret to make the rider's token with, or pass a token with --token-file or ENROUTE_REPLAY_TOKEN, or "
                + "run `enroute dev` in this folder.")
        let mint = try await TokenMint(
            secret: secret, issuer: configuration.tokenIssuer(), audience: configuration.tokenAudience())
        return try await mint.token(
            for: PersonID(self.rider ?? Self.defaultRider)!, role: .rider, now: Int64(Date.now.timeIntervalSince1970),
            lifetime: 6 * 3600)
    }
}
