// Redis replies through the real reader, over hiredis: the same in one piece, byte by byte and in chunks, and the same as the
// reference. An input that starts with 0xFF describes one large reply instead, at the limits of the reader.

@testable import Redis

/// First byte: how to split, or 0xFF. The rest: the bytes from Redis.
enum RESPCheck {
    static func run(_ input: [UInt8]) throws(Disagreement) {
        guard let seed = input.first else { return }
        let stream = input.dropFirst()
        guard seed != 0xFF else { return try self.large(Array(stream)) }
        let reference = RESPReference(stream)
        for cut in Cut.all(seed: seed) {
            var reading = Reading()
            for piece in cut.pieces(stream) { reading.feed(piece) }
            try require(
                reading.replies == reference.replies,
                "cut \(cut): parsed \(reading.replies), expected \(reference.replies)")
            try require(
                (reading.violation != nil) == (reference.ending == .violated),
                "cut \(cut): \(reading.violation ?? "accepted"), but the reference says \(reference.ending)")
            guard reading.violation != nil else { continue }
            reading.feed(ArraySlice("+OK\r\n".utf8))
            try require(reading.replies == reference.replies, "cut \(cut): a reader continues after a rejection")
        }
    }

    /// One reader and its output.
    private struct Reading {
        let reader = RESPReader()
        var replies: [RESPValue] = []
        var violation: String?

        mutating func feed(_ piece: ArraySlice<UInt8>) {
            let outcome: Result<[RESPValue], RedisError> = piece.withUnsafeBytes { bytes in
                var read: [RESPValue] = []
                do throws(RedisError) {
                    try self.reader.consume(bytes) { read.append($0.value) }
                } catch {
                    self.violation = "\(error)"
                }
                return .success(read)
            }
            if case .success(let read) = outcome { self.replies += read }
        }
    }

    // MARK: Limits

    /// A reply at the limit: its kind, the difference to the limit, and the chunk size in KiB.
    private static func large(_ words: [UInt8]) throws(Disagreement) {
        var choices = Choices(words)
        let kind = choices.below(4)
        let bound = kind == 3 ? RESPTape.maxElements : RESPTape.longestString
        let count = bound + Int(Int8(bitPattern: choices.byte())) * (kind == 3 ? 1 : 300)
        let piece = 1024 * (1 + choices.below(64))
        let text = repeatElement(UInt8(ascii: "a"), count: count)
        let bytes: [UInt8] =
            switch kind {
            case 0: Array("$\(count)\r\n".utf8) + text + [0x0D, 0x0A]
            case 1: [UInt8(ascii: "+")] + text + [0x0D, 0x0A]
            case 2: [UInt8(ascii: "-")] + text + [0x0D, 0x0A]
            default: Array("*\(count)\r\n".utf8)
            }
        var reading = Reading()
        var fed = 0
        while fed < bytes.count, reading.violation == nil {
            reading.feed(bytes[fed..<min(bytes.count, fed + piece)])
            fed += piece
        }
        try require(
            (reading.violation == nil) == (count <= bound),
            "\(count) with a limit of \(bound): \(reading.violation ?? "accepted")")
        // A rejected reply may have cost the limit plus the last chunk, twice: in the reader and on the tape.
        try require(fed <= bound + piece + 16_384 + 128, "\(fed) bytes were buffered before \(count) were rejected")
    }
}
