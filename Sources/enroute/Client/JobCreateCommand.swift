// enroute job create: creates a job, as an order system does.

import ArgumentParser
import EnrouteWire
import Foundation
import OutboundHTTP

extension JobCommand {
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Creates a job.",
            usage: "enroute job create <job> --customer <user> [<options>]",
            discussion: wrappable(
                """
                Examples:
                  enroute job create visit-1 --customer anna
                  enroute job create order-7 --kind delivery --customer anna --zone rome \\
                    --destination 41.9028,12.4964
                """))

        @OptionGroup var subject: Subject

        @Option(help: "The customer's user id.")
        var customer: String

        @Option(help: "service (a visit) or delivery.")
        var kind = JobKind.service.rawValue

        @Option(help: "The rider's user id.")
        var rider: String?

        @Option(help: "The zone, such as a city.")
        var zone: String?

        @Option(
            parsing: .unconditional,
            help: ArgumentHelp("Where the job ends, in degrees.", valueName: "latitude,longitude"))
        var destination: String?

        @Option(help: "The address where the job ends, instead of --destination.")
        var address: String?

        @Option(help: "What the rider travels with: \(StreetsCommand.vehicles).")
        var vehicle: String?

        @OptionGroup var options: ClientOptions

        private struct Place: Encodable {
            var lat: Double
            var lon: Double

            init?(_ text: String) {
                let numbers = text.split(separator: ",").map { Double($0.trimmingCharacters(in: .whitespaces)) }
                guard numbers.count == 2, let lat = numbers[0], let lon = numbers[1], lat.isFinite, lon.isFinite else {
                    return nil
                }
                (self.lat, self.lon) = (lat, lon)
            }
        }

        private struct Body: Encodable {
            var job: String
            var kind: String
            var customer: String
            var rider: String?
            var zone: String?
            var destination: Place?
            var address: String?
            var display: Display?

            struct Display: Encodable { var vehicle: String }
        }

        func validate() throws {
            guard JobKind(rawValue: self.kind) != nil else {
                throw ValidationError("\(self.kind) is not a kind of job: it must be service or delivery.")
            }
            guard self.destination.map({ Place($0) != nil }) ?? true else {
                throw ValidationError("--destination must be a latitude and a longitude: --destination 41.9028,12.4964")
            }
            guard self.destination == nil || self.address == nil else {
                throw ValidationError("--destination and --address cannot be used together.")
            }
            _ = try self.vehicle.map(StreetsCommand.vehicle)
        }

        func run() async throws {
            try await exitingCleanly {
                let body = Body(
                    job: self.subject.job, kind: self.kind, customer: self.customer, rider: self.rider, zone: self.zone,
                    destination: self.destination.flatMap { Place($0) }, address: self.address,
                    display: self.vehicle.map { .init(vehicle: $0) })
                let answer = try await self.options.client(as: .service).send(.post, "jobs", body)
                try DocumentScreen.show(answer, self.options)
            }
        }
    }
}
