import Redis
import Testing

@Suite struct RedisAddressTests {
    @Test(
        arguments: [
            ("redis://localhost", RedisAddress(endpoint: .tcp(host: "localhost", port: 6379))),
            ("redis://localhost/", RedisAddress(endpoint: .tcp(host: "localhost", port: 6379))),
            ("redis://10.0.0.1:7000/3", RedisAddress(endpoint: .tcp(host: "10.0.0.1", port: 7000), database: 3)),
            ("redis://:secret@h:1", RedisAddress(endpoint: .tcp(host: "h", port: 1), password: "secret")),
            ("redis://u:p@h:65535/0", RedisAddress(endpoint: .tcp(host: "h", port: 65_535), user: "u", password: "p")),
            (
                "redis://u:p%40%2F%3A@h",
                RedisAddress(endpoint: .tcp(host: "h", port: 6379), user: "u", password: "p@/:")
            ),
            // B44: what a password may contain literally, and what must be escaped.
            (
                "redis://u:a#b;c=d,e@h",
                RedisAddress(endpoint: .tcp(host: "h", port: 6379), user: "u", password: "a#b;c=d,e")
            ),
            (
                "redis://u:%23%2F%3F%25%40@h/1",
                RedisAddress(endpoint: .tcp(host: "h", port: 6379), user: "u", password: "#/?%@", database: 1)
            ),
            ("redis://u:a@b@h", RedisAddress(endpoint: .tcp(host: "h", port: 6379), user: "u", password: "a@b")),
            (
                "unix://u:p%23@/run/redis.sock",
                RedisAddress(endpoint: .unix(path: "/run/redis.sock"), user: "u", password: "p#")
            ),
            ("unix:/run/redis#1.sock", RedisAddress(endpoint: .unix(path: "/run/redis#1.sock"))),
            ("unix:/run/redis.sock", RedisAddress(endpoint: .unix(path: "/run/redis.sock"))),
            ("unix:///run/redis.sock", RedisAddress(endpoint: .unix(path: "/run/redis.sock"))),
            ("unix:/run/redis.sock?database=2", RedisAddress(endpoint: .unix(path: "/run/redis.sock"), database: 2)),
        ])
    func `a URL is parsed into endpoint, credentials and database`(url: String, address: RedisAddress) throws {
        #expect(try RedisAddress(url: url) == address)
    }

    @Test(
        arguments: [
            ("", "it is not a URL"), ("localhost", "it is not a URL"), ("localhost:6379", "scheme is not redis"),
            ("http://localhost", "scheme is not redis"), ("redis+other://localhost", "scheme is not redis"),
            ("redis:localhost", "has no host"), ("redis://a,b", "accepts only one"),
            ("redis+cluster://a/1", "only database 0"),
            ("redis+sentinel://a:1,b:2", "does not name the master"), ("redis+sentinel://a:1,:2/m", "has no host"),
            ("rediss://a?cert=c.pem", "cert and key must be given together"),
            // Without the s of rediss, these would connect in plain text.
            ("redis://a?ca=ca.pem", "ca would be ignored without TLS; write rediss:// instead of redis://"),
            ("redis://a?cert=c.pem&key=k.pem", "cert, key would be ignored without TLS"),
            ("redis://a?name=b", "name would be ignored without TLS"),
            ("redis+sentinel://a/m?ca=ca.pem", "write rediss+sentinel:// instead of redis+sentinel://"),
            ("redis+cluster://a?ca=ca.pem", "write rediss+cluster:// instead of redis+cluster://"),
            ("redis://a?sentinel_password=p", "sentinel_password would be ignored without Sentinels"),
            ("redis+sentinel://a/m?sentinel_user=u", "sentinel_user would be ignored without sentinel_password"),
            ("rediss+cluster://a?sentinel_user=u&sentinel_password=p", "sentinel_password, sentinel_user would be"),
            ("redis://", "has no host"), ("redis:///3", "has no host"), ("redis://:6379", "has no host"),
            ("redis://h/three", "not a database number"), ("redis://h/1/2", "not a database number"),
            ("redis://h/-1", "not a database number"), ("redis://h:0", "port is not"),
            ("redis://h:65536", "port is not"),
            // B44: a password with a slash was parsed as a host, a port and a database.
            ("redis://u:pa/ss@h:6379", "write a slash in a user or a password as %2F"),
            ("redis://:/ss@h", "write a slash in a user or a password as %2F"),
            ("redis+sentinel://u:pa/ss@h:1/m", "as %2F"), ("unix://u:pa/ss@/run/redis.sock", "as %2F"),
            ("redis://u:p?ss@h:6379", "write a question mark in a password as %3F"),
            ("rediss://h?caa=ca.pem", "only ca, cert, key"), ("redis://u:100%@h", "write a percent sign as %25"),
            ("redis://u:%+1@h", "as %25"), ("redis://u:%FF@h", "not UTF-8"), ("unix:/a?db=1", "only ?database=n"),
            ("unix:", "no socket file"), ("unix://", "no socket file"), ("unix://run/redis.sock", "no socket file"),
            ("unix:/a?database=x", "database is not a number"), ("unix:/a?database=-1", "database is not a number"),
        ])
    func `an invalid URL is rejected with the reason and an example`(url: String, reason: String) throws {
        let error = try #require(throws: RedisAddress.Malformed.self) { try RedisAddress(url: url) }
        #expect(error.description.contains(reason), "\(error)")
        #expect(error.description.contains("redis://[user:password@]host[:port]"))
    }

    private static let (a, b) = (RedisAddress.Node(host: "a", port: 1), RedisAddress.Node(host: "::1", port: 2))

    @Test func `Sentinels and clusters are given by some of their nodes`() throws {
        var sentinels = RedisAddress(
            endpoint: .sentinels([Self.a, Self.b], master: "mine"), user: "u", password: "p", database: 3)
        sentinels.sentinelPassword = "s"
        #expect(try RedisAddress(url: "redis+sentinel://u:p@a:1,[::1]:2/mine/3?sentinel_password=s") == sentinels)
        let cluster = RedisAddress(endpoint: .cluster([Self.a, Self.b]))
        #expect(try RedisAddress(url: "redis+cluster://a:1,[::1]:2") == cluster)
        let ports = try RedisAddress(url: "redis+sentinel://a,b/m").endpoint
        #expect(
            ports == .sentinels([.init(host: "a", port: 26_379), .init(host: "b", port: 26_379)], master: "m"))
    }

    @Test func `rediss uses TLS, with files for the CAs and the client certificate`() throws {
        let plain = try RedisAddress(url: "rediss://h:1/2").tls
        #expect(plain == RedisTLS())
        let full = try RedisAddress(
            url: "rediss+cluster://h:1?ca=/etc/ca%20b.pem&cert=c.pem&key=k.pem&name=redis.example")
        #expect(
            full.tls
                == RedisTLS(
                    authorities: "/etc/ca b.pem", certificate: "c.pem", key: "k.pem", serverName: "redis.example"))
        #expect(try RedisAddress(url: "redis://h:1").tls == nil)
    }

    @Test func `a description never contains the password`() throws {
        for url in ["redis://alice:hunter2@h:7000/3", "redis://:hunter2@h"] {
            let address = try RedisAddress(url: url)
            #expect(address.password == "hunter2")
            var dumped = ""
            dump(address, to: &dumped)
            for text in ["\(address)", String(reflecting: address), "\([address])", "\(address as Any?)", dumped] {
                #expect(!text.contains("hunter2"), "\(text)")
            }
        }
    }

    @Test(arguments: [
        "redis://alice:hunter2@h/x", "redis://alice:hunter2@", "http://alice:hunter2@h", "redis://a:hunter2@h:0",
    ])
    func `the error for an invalid URL does not contain its password`(url: String) throws {
        let error = try #require(throws: RedisAddress.Malformed.self) { try RedisAddress(url: url) }
        #expect(!"\(error)".contains("hunter2"))
        #expect(!String(reflecting: error).contains("hunter2"))
    }

    @Test func `a description contains host and port`() throws {
        #expect(try RedisAddress(url: "redis://u:p@h:7000/3").description == "h:7000")
        #expect(try RedisAddress(url: "unix:/run/redis.sock").description == "unix:/run/redis.sock")
    }

    @Test(arguments: [
        ("redis://u:p@[::1]:6390", "[::1]:6390"),
        ("redis+cluster://[fd00::1]:7000,h:1", "the cluster of [fd00::1]:7000,h:1"),
        ("redis+sentinel://[::1]/mine", "mine of the Sentinels [::1]:26379"),
    ])
    func `a description has an IPv6 address in brackets`(url: String, description: String) throws {
        #expect(try RedisAddress(url: url).description == description)
    }
}
