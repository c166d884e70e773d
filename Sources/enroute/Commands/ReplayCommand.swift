// enroute replay: a rider that travels a recorded trip.

import Access
import ArgumentParser
import EnrouteClient
import EnrouteWire
import Foundation
import Journeys
import Tracking

struct ReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Travels a recorded trip as a rider, over a real connection to a gateway.",
        usage: "enroute replay <file> --job <job> [<options>]",
        discussion: wrappable(
            """
            Reads GPX 1.1, CSV and NMEA 0183, each also as .gz. In NMEA, lines that begin with #, proprietary sentences
            ($P...) and unknown ones are skipped; damaged sentences are skipped with a warning. The job must exist, be this
            rider's, and be in_transit or on_the_way. Reports are as frequent as the gateway asks for; readings in between
            are skipped. The token comes from --token-file, from ENROUTE_REPLAY_TOKEN, or is made with ENROUTE_TOKEN_SECRET.

            Examples:
              enroute replay trip.gpx --job job-1 --rider rider-7
              enroute replay trips.csv.gz --trip 17 --job job-1 --rider rider-7 \\
                --speed 10 --url wss://localhost:8443 --insecure
            """))

    @Argument(help: "The recording: .gpx, .csv or .nmea, or one of these with .gz.")
    var file: String

    @Option(help: "The job to travel for.")
    var job: String

    @Option(help: "The rider, when the token is made here.")
    var rider: String = "rider"

    @Option(help: "The gateway.")
    var url: String = "wss://localhost:8443"

    @Option(help: "How many times faster than recorded, 0.1 to 1000.")
    var speed: Double = 1

    @Option(help: "Which trip of a CSV file that holds several.")
    var trip: String?

    @Option(help: ArgumentHelp("File that holds the rider's token.", valueName: "file"))
    var tokenFile: String?

    @Option(help: ArgumentHelp("Certificates to trust instead of the system's.", valueName: "pem"))
    var authorities: String?

    @Flag(help: "Trust any certificate: for development only.")
    var insecure = false

    func validate() throws {
        guard JobID(self.job) != nil else { throw ValidationError("--job must be 1 to 64 of [A-Za-z0-9_-].") }
        guard PersonID(self.rider) != nil else { throw ValidationError("--rider must be 1 to 64 of [A-Za-z0-9_-].") }
        guard (0.1...1000).contains(self.speed) else { throw ValidationError("--speed must be 0.1 to 1000.") }
    }

    func run() async throws {
        try await exitingCleanly {
            let journey = try Journey.load(path: self.file, trip: self.trip)
            let rider = Rider(
                url: self.url, token: try await self.token(),
                trust: self.insecure ? .anybody : self.authorities.map { .authorities(file: $0) } ?? .system,
                job: JobID(self.job)!, journey: journey, speed: { [speed] in speed }, heedsRate: true,
                onRefusal: { refusal in
                    FileHandle.standardError.write(
                        Data("refused: \(refusal.code.rawValue): \(refusal.message)\n".utf8))
                })
            say(
                "\(journey.name): \(journey.fixes.count) fixes, \(Int(journey.lengthMeters)) m, at \(self.speed) times the speed"
            )
            for warning in journey.warnings { self.warn(warning) }
            let metersPerSecond = journey.averageMetersPerSecond * self.speed
            if metersPerSecond > LocationValidator.Bounds().fastestMetersPerSecond {
                self.warn(
                    "this is \(Int(metersPerSecond)) m/s on average: a gateway holds back what is faster than 60 m/s unless "
                        + "ENROUTE_TRACKING_MAX_PLAUSIBLE_SPEED_MPS allows it")
            }
            do {
                let summary = try await rider.travel()
                let refused = summary.refused.values.reduce(0, +)
                say(
                    "sent \(summary.sent), passed over \(summary.passedOver), accepted \(summary.accepted), refused \(refused), "
                        + "conflated \(max(0, summary.sent - summary.accepted - refused)), "
                        + "reconnected \(summary.reconnects) times")
            } catch let error as ClientError {
                throw Unavailable(description: error.description)
            }
        }
    }

    private func warn(_ text: String) { FileHandle.standardError.write(Data("warning: \(text)\n".utf8)) }

    private func token() async throws -> String {
        if let tokenFile {
            guard let text = try? String(contentsOfFile: tokenFile, encoding: .utf8) else {
                throw ConfigurationError(description: "--token-file names \(tokenFile), which can not be read.")
            }
            return text.trimmingCharacters(in: .whitespacesAndNewlines)
        }
        let configuration = try ProcessConfiguration(file: nil)
        if let token = configuration.text("ENROUTE_REPLAY_TOKEN") { return token }
        let secret = try configuration.required(
            "ENROUTE_TOKEN_SECRET",
            "the rider needs a token: --token-file, ENROUTE_REPLAY_TOKEN, or the secret to make one.")
        let mint = try await TokenMint(
            secret: secret, issuer: configuration.tokenIssuer(), audience: configuration.tokenAudience())
        return try await mint.token(
            for: PersonID(self.rider)!, role: .rider, now: Int64(Date.now.timeIntervalSince1970), lifetime: 6 * 3600)
    }
}
