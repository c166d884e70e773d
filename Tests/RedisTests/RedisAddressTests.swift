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
            ("unix:/run/redis.sock", RedisAddress(endpoint: .unix(path: "/run/redis.sock"))),
            ("unix:///run/redis.sock", RedisAddress(endpoint: .unix(path: "/run/redis.sock"))),
            ("unix:/run/redis.sock?database=2", RedisAddress(endpoint: .unix(path: "/run/redis.sock"), database: 2)),
        ])
    func `a URL names endpoint, credentials and database`(url: String, address: RedisAddress) throws {
        #expect(try RedisAddress(url: url) == address)
    }

    @Test(
        arguments: [
            ("", "it is not a URL"), ("localhost", "it is not a URL"), ("localhost:6379", "scheme is neither"),
            ("http://localhost", "scheme is neither"), ("rediss://localhost", "scheme is neither"),
            ("redis://", "names no host"), ("redis:///3", "names no host"), ("redis://:6379", "names no host"),
            ("redis://h/three", "not a database number"), ("redis://h/1/2", "not a database number"),
            ("redis://h/-1", "not a database number"), ("redis://h:0", "port is not"),
            ("redis://h:65536", "port is not"),
            ("unix:", "no socket file"), ("unix://", "no socket file"), ("unix://run/redis.sock", "no socket file"),
            ("unix:/a?database=x", "database is not a number"), ("unix:/a?database=-1", "database is not a number"),
        ])
    func `a URL that can not be meant is refused with the reason and an example`(url: String, reason: String) throws {
        let error = try #require(throws: RedisAddress.Malformed.self) { try RedisAddress(url: url) }
        #expect(error.description.contains(reason), "\(error)")
        #expect(error.description.contains("redis://[user:password@]host"))
    }

    @Test func `a description never holds the password`() throws {
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
    func `a refused URL does not repeat its password`(url: String) throws {
        let error = try #require(throws: RedisAddress.Malformed.self) { try RedisAddress(url: url) }
        #expect(!"\(error)".contains("hunter2"))
        #expect(!String(reflecting: error).contains("hunter2"))
    }

    @Test func `a description says where it is`() throws {
        #expect(try RedisAddress(url: "redis://u:p@h:7000/3").description == "h:7000")
        #expect(try RedisAddress(url: "unix:/run/redis.sock").description == "unix:/run/redis.sock")
    }
}
