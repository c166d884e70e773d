// What one Sentinel knows about a master and its replicas: its parsed replies, which are flat lists of names and values.

private import Redis

/// A master as one Sentinel sees it.
struct SentinelView: Sendable {
    private let master: [String: String]
    private let replicas: [[String: String]]

    init(of name: String, from sentinel: LoopbackEndpoint) async throws {
        self.master = Self.fields(try await sentinel.carryOut("SENTINEL", "MASTER", name))
        self.replicas = try await sentinel.carryOut("SENTINEL", "REPLICAS", name).array?.map(Self.fields) ?? []
    }

    var port: Int { self.master["port"].flatMap(Int.init) ?? 0 }

    /// Whether it considers the master healthy, and knows at least this many healthy replicas and other Sentinels.
    func isInOrder(replicas count: Int, sentinels: Int) -> Bool {
        let isWell = self.master["flags"] == "master" && self.master["num-other-sentinels"] == "\(sentinels)"
        let sound = self.replicas.filter { $0["flags"] == "slave" && $0["master-link-status"] == "ok" }
        return isWell && sound.count >= count && sound.allSatisfy { $0["master-port"] == self.master["port"] }
    }

    private static func fields(_ answer: RESPValue) -> [String: String] {
        let words = answer.array?.map { $0.text ?? "" } ?? []
        return Dictionary(
            stride(from: 0, to: words.count - 1, by: 2).map { (words[$0], words[$0 + 1]) }, uniquingKeysWith: { $1 })
    }
}
