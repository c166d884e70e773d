// Where a Redis is, as far as an inspection is concerned: is what we send readable on the way, and how do people reach it
// with redis-cli. Read from the URL's text; credentials are passed over.

/// The way to one Redis.
package struct RedisPlace: Sendable, Hashable {
    package enum Way: Sendable, Hashable {
        /// A socket file or loopback.
        case sameMachine
        case encrypted
        case readable
    }

    package var way: Way
    /// How redis-cli is called: `redis-cli -h 10.0.0.5 -p 6379`.
    package var commandLine: String
    /// Host and port, or the socket file, without credentials.
    package var name: String

    /// - Parameter url: one that `RedisAddress` accepts; of Sentinels and clusters, all hosts are considered.
    package init(url: String) {
        let scheme = url.prefix { $0 != ":" }
        let rest = url.dropFirst(scheme.count + 1)
        guard scheme != "unix" else {
            let path = rest.drop { $0 == "/" }.prefix { $0 != "?" }
            self.init(way: .sameMachine, commandLine: "redis-cli -s /\(path)", name: "unix:/\(path)")
            return
        }
        let authority = rest.drop { $0 == "/" }.prefix { $0 != "/" && $0 != "?" }
        let hosts = authority[
            (authority.lastIndex(of: "@").map { authority.index(after: $0) } ?? authority.startIndex)...]
        let places = hosts.split(separator: ",").map { Self.split($0) }
        let isEncrypted = scheme.hasPrefix("rediss")
        let isNear = !places.isEmpty && places.allSatisfy { Self.isLoopback($0.host) }
        let tls = isEncrypted ? " --tls" : ""
        // Behind Sentinels or in a cluster, the node at fault is not one of those in the URL.
        let target =
            scheme.contains("+") || places.count != 1
            ? "-h HOST -p PORT" : "-h \(places[0].host) -p \(places[0].port)"
        self.init(
            way: isEncrypted ? .encrypted : isNear ? .sameMachine : .readable,
            commandLine: "redis-cli \(target)\(tls)", name: String(hosts))
    }

    private init(way: Way, commandLine: String, name: String) {
        (self.way, self.commandLine, self.name) = (way, commandLine, name)
    }

    private static func split(_ text: Substring) -> (host: Substring, port: Substring) {
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            let port = text[text.index(after: end)...].dropFirst()
            return (text[text.index(after: text.startIndex)..<end], port.isEmpty ? "6379" : port)
        }
        let host = text.prefix { $0 != ":" }
        let port = text.dropFirst(host.count + 1)
        return (host, port.isEmpty ? "6379" : port)
    }

    private static func isLoopback(_ host: Substring) -> Bool {
        host == "localhost" || host == "::1" || host.hasPrefix("127.")
    }
}
