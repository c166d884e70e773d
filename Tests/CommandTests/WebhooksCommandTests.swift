import Foundation
import LiveState
import Redis
import TestSupport
import Testing

/// `enroute webhooks` as an operator runs it: directly against Redis, without a gateway. Deliveries are tested in
/// Tests/Deploy/test_webhooks.py.
@Suite struct WebhooksCommandTests {
    private static func run(_ words: [String], _ server: String, _ more: [String: String] = [:]) async throws -> (
        code: Int32, output: String, error: String
    ) {
        let settings = ["ENROUTE_REDIS_LIVE_URL": server, "ENROUTE_REDIS_PREFIX": "staging:"]
        let outcome = try await CommandTests.run(["webhooks"] + words, environment: settings.merging(more) { $1 })
        return (outcome.code, outcome.output, outcome.error)
    }

    @Test func `a webhook is added, listed, rotated and removed under the configured prefix`() async throws {
        try await withRedis { client, server in
            let empty = try await Self.run(["list"], server.url)
            #expect(empty.code == 0 && empty.output == "There are no webhooks.\n")
            let added = try await Self.run(
                ["add", "https://192.0.2.7/hooks", "--type", "enroute.job.closed"], server.url,
                ["ENROUTE_WEBHOOK_ALLOWED_NETWORKS": "192.0.2.0/24"])
            #expect(added.code == 0, "\(added)")
            let secret = try #require(added.output.firstMatch(of: /secret (whsec_\S+)/)?.1)
            let id = try #require(added.output.firstMatch(of: /added (\S+)/)?.1)
            let key = "staging:webhook:{\(id)}"
            #expect(try await client.run("HGET", key, "types").text == "enroute.job.closed")
            let listed = try await Self.run(["list", "--json"], server.url)
            #expect(listed.output.contains("https://192.0.2.7/hooks") && !listed.output.contains("whsec_"))
            let rotated = try await Self.run(["rotate", String(id)], server.url)
            #expect(rotated.code == 0 && !rotated.output.contains(secret))
            #expect(try await client.run("HGET", key, "secrets").text?.contains(secret) == true)
            #expect(try await Self.run(["remove", String(id)], server.url).output == "removed \(id)\n")
            let gone = try await Self.run(["remove", String(id)], server.url)
            #expect(gone.code == 1 && gone.error.contains("There is no webhook \(id)"))
        }
    }

    @Test func `the list says why an endpoint fails, and that its waiting list is full although it responds`()
        async throws
    {
        try await withRedis { client, server in
            let added = try await Self.run(
                ["add", "https://192.0.2.7/hooks"], server.url, ["ENROUTE_WEBHOOK_ALLOWED_NETWORKS": "192.0.2.0/24"])
            let key = "staging:webhook:{\(try #require(added.output.firstMatch(of: /added (\S+)/)?.1))}"
            #expect(try await Self.run(["list"], server.url).output.contains("    on; 0 waiting"))
            let full = "100000 events are waiting; newer ones stay in the stream"
            try await client.run("HSET", key, "last_error", full)
            #expect(try await Self.run(["list"], server.url).output.contains("    failing: \(full); 0 waiting"))
            try await client.run("HSET", key, "last_error", "status 500", "failing_since", "1795248617611")
            #expect(try await Self.run(["list"], server.url).output.contains("    failing: status 500; 0 waiting"))
        }
    }

    @Test func `undelivered and replay say how many events remain, and how to get them`() async throws {
        try await withRedis { client, server in
            let added = try await Self.run(
                ["add", "https://192.0.2.7/hooks"], server.url, ["ENROUTE_WEBHOOK_ALLOWED_NETWORKS": "192.0.2.0/24"])
            let id = String(try #require(added.output.firstMatch(of: /added (\S+)/)?.1))
            let none = try await Self.run(["replay", id], server.url)
            #expect(none.output == "0 undelivered events were queued for delivery\n")
            let fill = """
                for i = 1, 1150 do
                  redis.call('XADD', KEYS[1], i .. '-1', 'subject', 'job-' .. i, 'event', 'e.' .. i .. ' {}', 'reason',
                    'status 500', 'attempts', '8')
                end
                """
            try await client.run("EVAL", fill, "1", "staging:webhook:{\(id)}:dead")
            let page = try await Self.run(["undelivered", id], server.url)
            #expect(page.output.hasPrefix("1-1  e.1  job-1  8 attempts  status 500\n"))
            #expect(
                page.output.hasSuffix(
                    """
                    These are 100 of 1150 undelivered events. For the next ones, run:
                    enroute webhooks undelivered \(id) --after 100-1

                    """))
            let next = try await Self.run(["undelivered", id, "--after", "1149-1"], server.url)
            #expect(next.output == "1150-1  e.1150  job-1150  8 attempts  status 500\n")
            let end = try await Self.run(["undelivered", id, "--after", "1150-1"], server.url)
            #expect(end.output == "No undelivered event follows 1150-1.\n")
            let first = try await Self.run(["replay", id], server.url)
            #expect(
                first.output
                    == "1000 undelivered events were queued for delivery; 150 remain: repeat the command\n")
            let second = try await Self.run(["replay", id, "--json"], server.url)
            #expect(second.output.contains(#""replayed" : 150"#) && second.output.contains(#""undelivered" : 0"#))
        }
    }

    @Test(arguments: [
        (["add", "https://127.0.0.1/"], "not public"), (["add", "http://shop.example/"], "must start with https://"),
        (["add", "https://192.0.2.7/", "--type", "enroute.job.sold"], "There is no event type enroute.job.sold"),
        (["test", "none"], "There is no webhook none"), (["replay", "a b"], "There is no webhook a b"),
    ])
    func `an impossible request is explained`(words: [String], reason: String) async throws {
        try await withRedis { _, server in
            let outcome = try await Self.run(words, server.url)
            #expect(outcome.code == 1 && outcome.error.contains(reason), "\(outcome)")
        }
    }

    @Test func `I8: no setting allows http, not even on this machine`() async throws {
        try await withRedis { _, server in
            for url in ["http://127.0.0.1/", "http://localhost:3000/"] {
                let outcome = try await Self.run(
                    ["add", url], server.url, ["ENROUTE_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8,::1"])
                #expect(outcome.code == 1 && outcome.error.contains("must start with https://."), "\(outcome)")
            }
        }
    }

    @Test(arguments: [
        ("ENROUTE_WEBHOOK_ALLOWED_NETWORKS", "10.0.0.0/33"), ("ENROUTE_WEBHOOK_RETRY_SECONDS", "5,0"),
        ("ENROUTE_WEBHOOK_RETRY_SECONDS", ","), ("ENROUTE_WEBHOOK_OFF_AFTER_SECONDS", "1"),
        ("ENROUTE_WEBHOOK_CA_FILE", "/etc/hostname"), ("ENROUTE_WEBHOOK_DELIVERY", "maybe"),
    ])
    func `a wrong setting is reported by name`(name: String, value: String) async throws {
        let outcome = try await Self.run(["list"], "unix:/nowhere.sock", [name: value])
        #expect(outcome.code == 78 && outcome.error.contains(name), "\(outcome)")
    }
}
