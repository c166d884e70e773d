// All replies that the reader parses from some bytes.

@testable import Redis

extension RESPReader {
    /// The replies completed by these bytes.
    func replies(to bytes: some Collection<UInt8>) throws(RedisError) -> [RESPValue] {
        var replies: [RESPValue] = []
        let bytes = Array(bytes)
        let outcome: Result<Void, RedisError> = bytes.withUnsafeBytes { bytes in
            do throws(RedisError) {
                try self.consume(bytes) { replies.append($0.value) }
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try outcome.get()
        return replies
    }
}
