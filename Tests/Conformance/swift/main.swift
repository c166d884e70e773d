// The Swift client as a program for the conformance kit (../README.md): reads commands, one JSON object per line.

import Foundation

let lines = AsyncStream<String> { continuation in
    Thread.detachNewThread {
        while let line = readLine() { continuation.yield(line) }
        continuation.finish()
    }
}
let driver = Driver()
say("ready", ["can": ["follow", "link", "resume", "renew", "ride"], "speed": 1000])
for await line in lines {
    guard let command = try? JSONDecoder().decode(Command.self, from: Data(line.utf8)) else {
        fatalError("not a command: \(line)")
    }
    await driver.perform(command)
    if command.do == "stop" { break }
}
exit(0)
