// Travels to a job in twenty lines: swift run rider-sample https://track.example order-1 <token>

import Enroute
import EnrouteNIO
import Foundation

let words = CommandLine.arguments
guard words.count == 4, let gateway = URL(string: words[1]), let job = JobID(words[2]) else {
    fatalError("usage: rider-sample <gateway> <job> <token>")
}
let client = EnrouteClient(.init(gateway: gateway, transport: NIOTransport()) { .token(words[3]) })
await client.start()
for await state in client.connectionStates where state.isOpen { break }
print("sharing until", try await client.rider.startTravel(job) ?? .distantFuture)
for step in 0..<10 {
    let place = Place(latitude: 41.9 + Double(step) * 0.0001, longitude: 12.5)
    await client.rider.report(Fix(place: place, measuredAt: Date(), accuracy: 5), for: [job])
    try await Task.sleep(for: .seconds(1))
}
try await client.rider.stopTravel(job)
