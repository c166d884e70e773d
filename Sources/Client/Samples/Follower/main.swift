// Follows a job in twenty lines: swift run follower-sample https://track.example order-1 <token>

import Enroute
import EnrouteNIO
import Foundation

let words = CommandLine.arguments
guard words.count == 4, let gateway = URL(string: words[1]), let job = JobID(words[2]) else {
    fatalError("usage: follower-sample <gateway> <job> <token>")
}
let client = EnrouteClient(.init(gateway: gateway, transport: NIOTransport()) { .token(words[3]) })
await client.start()
for try await view in client.job(job) {
    let place = view.position.map { "\($0.place.latitude) \($0.place.longitude)" } ?? "-"
    print(view.status.rawValue, view.tracking.rawValue, place, ArrivalPhrase(view))
}
print("over")
