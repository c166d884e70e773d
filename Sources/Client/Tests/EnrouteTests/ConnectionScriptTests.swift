// Plays the fault scripts that enroute.js plays too (Tests/JavaScript/connection-scripts.test.mjs). Both clients must
// report the same events at the same ms.

import Foundation
import Testing

@testable import Enroute

@Suite struct ConnectionScriptTests {
    struct Script: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let steps: [[Value]]
        let lines: [String]

        var testDescription: String { self.name }
    }

    /// A step's name, or its argument.
    enum Value: Decodable, Sendable {
        case text(String)
        case number(Double)
        case message(type: String, more: [String: Double])

        private struct Name: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        init(from decoder: any Decoder) throws {
            if let members = try? decoder.container(keyedBy: Name.self) {
                let names = members.allKeys.filter { $0.stringValue != "type" }
                self = .message(
                    type: try members.decode(String.self, forKey: Name(stringValue: "type")),
                    more: try Dictionary(
                        uniqueKeysWithValues: names.map {
                            ($0.stringValue, try members.decode(Double.self, forKey: $0))
                        }))
                return
            }
            let value = try decoder.singleValueContainer()
            if let number = try? value.decode(Double.self) {
                self = .number(number)
            } else {
                self = .text(try value.decode(String.self))
            }
        }
    }

    static func scripts() throws -> [Script] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "connection-scripts.json")
        return try JSONDecoder().decode([Script].self, from: Data(contentsOf: file))
    }

    @Test(arguments: try ConnectionScriptTests.scripts())
    func `the Swift client reports what enroute.js reports`(script: Script) throws {
        var client = PlayedClient()
        client.start()
        for step in script.steps {
            guard case .text(let name)? = step.first else { continue }
            switch (name, step.count > 1 ? step[1] : nil) {
            case ("welcome", _): client.welcome()
            case ("pass", .number(let ms)?): client.pass(ms)
            case ("closes", .number(let code)?): client.closes(UInt16(code))
            case ("says", .message(let type, let more)?):
                let members = more.map { ",\"\($0.key)\":\(Int($0.value))" }.joined()
                client.says("{\"type\":\"\(type)\"\(members)}")
            case ("token", .text(let token)?): client.credential = .token(token)
            case ("follow", .text(let tracking)?):
                client.change { $0.follow(FollowedViewTests.job, viewer: 1, at: $1) }
                let message = FollowedViewTests.subscribed(nil, tracking: tracking)
                client.machine.received(message, attempt: client.machine.connection.attempt, at: client.moment)
            case ("wake", _): client.connection { $0.wake(at: $1) }
            default: Issue.record("unknown step \(step)")
            }
        }
        #expect(client.log.sorted() == script.lines)
        #expect(client.log.count > 1)
    }
}
