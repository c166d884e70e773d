// The golden files: the bytes that the client sends, and the effect of those that it receives.

import Foundation
import Testing

@testable import Enroute

/// The golden files of the gateway and of enroute.js: the client sends exactly these bytes, and understands these lines.
@Suite(.enabled(if: GoldenFiles.areHere)) struct GoldenTests {
    private static let job: JobID = "visit-1"

    /// The calls that make the client send each line.
    private static let saying: [String: [@Sendable () throws -> [String]]] = [
        "auth": [
            { PlayedClient.open().sent },
            { PlayedClient.open(.trackingLink("5f0c2e7a91b34d6688e0c1a2b3d4e5f6")).sent },
        ],
        "refresh": [{ Self.said { _ = $0.request(.refresh(token: PlayedClient.token)) } }],
        "subscribe": [
            { Self.said { $0.change { $0.follow(Self.job, viewer: 1, at: $1) } } },
            {
                var client = PlayedClient.open()
                client.change { $0.follow(Self.job, viewer: 1, at: $1) }
                client.says(try GoldenFiles.first("subscribed"))
                client.closes(1006)
                client.pass(3_000)
                client.welcome()
                return client.sent
            },
        ],
        "unsubscribe": [
            {
                Self.said {
                    $0.change { $0.follow(Self.job, viewer: 1, at: $1) }
                    $0.change { $0.unfollow(Self.job, consumer: 1, at: $1) }
                }
            }
        ],
        "travel": [
            { Self.said { _ = $0.request(.travel(Self.job, isActive: true)) } },
            { Self.said { _ = $0.request(.travel(Self.job, isActive: false)) } },
        ],
        "location": [
            { Self.said { Self.reportOne(&$0) } },
            {
                Self.said { client in
                    Self.reportOne(&client)
                    let jobs: [JobID] = ["visit-1", "visit-2"]
                    for fix in [
                        Fix.at(1_795_248_618_626, 41.9029, 12.4965, acc: 12.5),
                        Fix.at(1_795_248_619_626, -41.9029123, -12.4965),
                    ] {
                        client.change { $0.report(fix, jobs: jobs, battery: nil, at: $1) }
                    }
                    client.pass(1_000)
                }
            },
        ],
        "availability": [
            { Self.said { _ = $0.request(.availability(.online, device: "phone-1")) } },
            { Self.said { _ = $0.request(.availability(.offline, device: nil)) } },
        ],
        "presence": [
            { Self.said { _ = $0.request(.presence(nil, device: nil)) } },
            { Self.said { _ = $0.request(.presence(Place(latitude: 41.9, longitude: 12.5), device: "phone-1")) } },
        ],
        "unavailable": [
            { Self.said { _ = $0.request(.unavailable(.permissionDenied, Self.job)) } },
            { Self.said { _ = $0.request(.unavailable(.hidden, nil)) } },
        ],
        "watch": [
            { Self.said { $0.change { $0.watch("rome", consumer: 1, at: $1) } } },
            {
                var client = PlayedClient.open()
                client.change { $0.watch("rome", consumer: 1, at: $1) }
                client.says(try GoldenFiles.first("pool"))
                client.closes(1006)
                client.pass(3_000)
                client.welcome()
                return client.sent
            },
        ],
        "unwatch": [
            {
                Self.said {
                    $0.change { $0.watch("rome", consumer: 1, at: $1) }
                    $0.change { $0.unwatch("rome", consumer: 1, at: $1) }
                }
            }
        ],
        "ping": [{ Self.said { $0.pass(20_000) } }],
    ]

    private static func said(_ body: (inout PlayedClient) -> Void) -> [String] {
        var client = PlayedClient.open()
        body(&client)
        return client.sent
    }

    private static func reportOne(_ client: inout PlayedClient) {
        let fix = Fix.at(1_795_248_617_626, acc: 5, spd: 8.2, hdg: 47)
        client.change { $0.report(fix, jobs: [Self.job], battery: nil, at: $1) }
    }

    @Test func `the client sends every kind of message as in the golden file`() throws {
        let client = try GoldenFiles.lines("client")
        #expect(Self.saying.keys.sorted() == client.keys.sorted())
        for (kind, lines) in client {
            let ways = try #require(Self.saying[kind])
            #expect(ways.count == lines.count, "\(kind)")
            for (line, way) in zip(lines, ways) {
                // The golden files contain no `ref`. The client adds one to requests, as the last member.
                let said = try way().last { $0.contains(#""type":"\#(kind)""#) }
                #expect(said?.replacing(/,"ref":"\d+"}$/, with: "}") == line)
            }
        }
    }

    /// The effect of each line, as text.
    private static let heard: [String: [String]] = [
        "subscribed": [
            "on_the_way stale unavailable_network ok 1795248617626123 recalculating Da Gino & Söhne Via Appia 1, Roma Rosa A-1042 1800.0 17 3rd floor"
        ],
        "reset": ["ended reassigned nil"],
        "status": ["1795248617611-0 on_the_way 1795248617611", "1795248610000-0 assigned 1795248610000"],
        "location": ["1795248617626123 41.9028 47.0", "1795248618626124 41.9029123 nil"],
        "tracking": ["live nil 1795248617626123", "paused deactivated nil", "ended time_limit nil"],
        "eta": [
            "1795249337630 low nil nil nil", "nil nil 1 nil nil", "1795249337630 low nil 1795250007950 nil",
            "1795249337630 medium nil nil 3 485.0 88.0 41.9 12.5",
        ],
        "ended": ["completed nil"],
        "proximity": ["arrived"],
        "unavailable": ["unavailable_network", "unavailable_hidden"],
        "rate": ["2500.0", "8000.0"],
        "pool": ["1795248617626123 1 rider-7", "1795248618000456 0 rider-7"],
        // Ignored, because the client does not watch the jobs and places of zones.
        "jobs": ["1795248617626123 1 rider-7", "1795248617626123 1 rider-7"],
        "places": ["1795248617626123 1 rider-7", "1795248617626123 1 rider-7"],
        "rider": ["1795248618000456 0 1"],
        "welcome": ["open(isDegraded: false, isSilent: false)"],
        "degraded": ["open(isDegraded: true, isSilent: false)"],
        "restored": ["open(isDegraded: false, isSilent: false)"],
        "ok": ["deadline 1795263017611", "accepted visit-1", "deadline nil"],
        "error": [
            "finish not_found", "unavailable Try again \"shortly\". true 1500.0", "active_task order-1,order-2",
            "finish forbidden",
            "refused visit-1 implausible_position inaccurate",
        ],
        "pong": ["offset -22374"],
        "goaway": ["waits 4200"],
    ]

    @Test func `the client understands every kind of message in the golden file`() throws {
        let server = try GoldenFiles.lines("server")
        #expect(Self.heard.keys.sorted() == server.keys.sorted())
        for (kind, lines) in server {
            #expect(Self.heard[kind]?.count == lines.count, "\(kind)")
            for (line, heard) in zip(lines, Self.heard[kind] ?? []) {
                #expect(try Self.hearing(kind, line) == heard, "\(kind)")
            }
        }
    }

    /// The state of a job before a line. It lacks the content of the line, so that a test notices if the line is ignored.
    private static func earlier(_ kind: String) throws -> String {
        let subscribed = try GoldenFiles.first("subscribed")
        guard kind == "status" else {
            return kind == "location" ? subscribed.replacing(/"position":\{[^}]*\},/, with: "") : subscribed
        }
        return subscribed.replacing(
            /"id":"1795248617611-0","destination"/, with: #""id":"1795248600000-0","destination""#
        )
        .replacing(
            /"kind":"service","status":"on_the_way","statusAt":1795248617611/,
            with: #""kind":"service","status":"assigned","statusAt":1"#)
    }

    @Test func `at the end the rider's card is removed, and all details if the job is no longer shared`() throws {
        for (reason, isShared) in [("completed", true), ("revoked", false), ("reassigned", false)] {
            var client = PlayedClient.open()
            client.change { $0.follow(Self.job, viewer: 1, at: $1) }
            client.says(try GoldenFiles.first("subscribed"))
            #expect(client.views.last?.riderCard?.plate == "AB 123")
            client.says(#"{"type":"ended","job":"visit-1","reason":"\#(reason)"}"#)
            let view = client.views.last
            #expect(view?.riderCard == nil && (view?.display != nil) == isShared && (view?.metadata != nil) == isShared)
        }
    }

    private static func hearing(_ kind: String, _ line: String) throws -> String {
        var client = PlayedClient.open()
        // A pong is used for the clock only after a ping.
        if kind == "pong" { client.pass(20_000) }
        client.change { $0.follow(Self.job, viewer: 1, at: $1) }
        client.change { $0.watch("rome", consumer: 2, at: $1) }
        if !line.contains(#""replyTo":"subscribe""#) { client.says(try Self.earlier(kind)) }
        if !line.contains(#""replyTo":"watch""#) { client.says(try GoldenFiles.first("pool")) }
        if kind == "restored" { client.says(try GoldenFiles.first("degraded")) }
        var request: Int?
        if line.contains(#""replyTo":"travel""#) { request = client.request(.travel(Self.job, isActive: true)) }
        if line.contains(#""replyTo":"availability""#) {
            request = client.request(.availability(.offline, device: nil))
        }
        // The golden lines have another `ref`, or none.
        let answered = line.replacing(/,"ref":"7"/, with: "").replacing(
            /"replyTo":"(travel|availability)"/, with: { #""replyTo":"\#($0.output.1)","ref":"\#(request ?? 0)""# })
        client.says(answered)
        let view = client.views.last
        let eta = view?.arrival
        func text(_ parts: Any?...) -> String { parts.map { $0.map { "\($0)" } ?? "nil" }.joined(separator: " ") }
        switch kind {
        case "subscribed":
            return text(
                view?.status.rawValue, view?.tracking, view?.unavailableKey, view?.geocoding, view?.position?.id,
                eta?.state,
                view?.vendor, view?.vendorAddress, view?.riderCard?.name, view?.display?.orderNumber,
                view?.display?.window.map { $0.upperBound.timeIntervalSince($0.lowerBound) }, view?.metadata?["shop"],
                view?.recipient?.floor)
        case "reset", "tracking":
            return text(view?.tracking, view?.reason?.rawValue, view?.position?.id)
        case "status": return text(view?.cursor.id, view?.status.rawValue, view.map { Int($0.statusAt.inMilliseconds) })
        case "location": return text(view?.position?.id, view?.position?.place.latitude, view?.position?.course)
        case "eta":
            return text(
                eta?.arrivesAt.map { Int($0.inMilliseconds) }, eta?.confidence, eta?.stopsBefore,
                eta?.latest.map { Int($0.inMilliseconds) }, eta?.route?.places.count)
                + (eta?.route.map { route in
                    " " + text(route.meters, route.seconds, route.places.last?.latitude, route.places.last?.longitude)
                } ?? "")
        case "ended": return text(view?.ended?.rawValue, view?.position)
        case "proximity": return text(view?.proximity)
        case "unavailable": return text(view?.unavailableKey)
        case "rate": return text(client.paces.last)
        case "pool", "jobs", "places":
            return text(client.pools.last?.version, client.pools.last?.count, client.pools.last?.riders.keys.first)
        case "rider":
            return text(
                client.pools.last?.version, client.pools.last?.count, client.pools.last?.riders["rider-7"]?.tasks)
        case "welcome", "degraded", "restored": return text(client.state)
        case "pong": return text("offset", Int(client.machine.connection.clock.offset))
        case "goaway":
            client.closes(4000)
            guard case .waiting(let until?, _) = client.state else { return "not waiting" }
            let wait = until.inMilliseconds - client.moment.wall
            return text("waits", Int(wait - 0.5 * Reconnecting.spread))
        default: return Self.answer(client, request)
        }
    }

    private static func answer(_ client: PlayedClient, _ request: Int?) -> String {
        if let outcome = client.outcomes.last {
            switch outcome {
            case .accepted(let job): return "accepted \(job)"
            case .refused(let job, let error): return "refused \(job!) \(error.code.rawValue) \(error.reason ?? "")"
            }
        }
        if let finished = client.finished.values.first { return "finish \(finished?.code.rawValue ?? "nil")" }
        switch request.flatMap({ client.answers[$0] }) {
        case .success(let ok)?: return "deadline \(ok.deadline.map { "\(Int($0))" } ?? "nil")"
        case .failure(let error)? where error.code == .activeTask:
            return "active_task " + error.tasks.map(\.rawValue).joined(separator: ",")
        case .failure(let error)?:
            return
                "\(error.code.rawValue) \(error.message) \(error.isRetryable) \(error.retryAfter?.inMilliseconds ?? 0)"
        case nil: return "nothing"
        }
    }
}
