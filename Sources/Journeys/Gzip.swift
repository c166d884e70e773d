// gzip (RFC 1952) with zlib, in chunks and with a limit on the output: a small file may unpack to a very large one.

private import CZlib
internal import Foundation

enum Gzip {
    private static let pieceBytes = 262_144
    /// A window of 32 KiB, with a gzip header.
    private static let windowBits: Int32 = 15 + 16

    /// All members of a gzip file, one after the other. Zeros may follow the last one, as for gzip(1).
    ///
    /// - Throws: `corruptGzip`, `tooLarge`.
    static func inflate(_ data: Data, limitBytes: Int) throws(JourneyError) -> Data {
        var stream = z_stream()
        guard inflateInit2_(&stream, self.windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw .corruptGzip(reason: "zlib could not allocate memory")
        }
        defer { inflateEnd(&stream) }
        var input = [UInt8](data)
        var output = Data()
        var piece = [UInt8](repeating: 0, count: self.pieceBytes)
        var status = Z_OK
        let failure: JourneyError? = input.withUnsafeMutableBufferPointer { input in
            stream.next_in = input.baseAddress
            stream.avail_in = uInt(input.count)
            repeat {
                if status == Z_STREAM_END { inflateReset(&stream) }
                let count = piece.withUnsafeMutableBufferPointer { piece in
                    stream.next_out = piece.baseAddress
                    stream.avail_out = uInt(piece.count)
                    status = CZlib.inflate(&stream, Z_NO_FLUSH)
                    return piece.count - Int(stream.avail_out)
                }
                guard status == Z_OK || status == Z_STREAM_END else {
                    let isCutOff = status == Z_BUF_ERROR
                    return .corruptGzip(
                        reason: isCutOff
                            ? "the data is truncated" : stream.msg.map { String(cString: $0) } ?? "code \(status)")
                }
                guard output.count + count <= limitBytes else { return .tooLarge(limitBytes: limitBytes) }
                output.append(contentsOf: piece[..<count])
                if status == Z_STREAM_END, input.suffix(Int(stream.avail_in)).allSatisfy({ $0 == 0 }) { return nil }
            } while stream.avail_in > 0 || (status == Z_OK && stream.avail_out == 0)
            return status == Z_STREAM_END ? nil : .corruptGzip(reason: "the data is truncated")
        }
        if let failure { throw failure }
        return output
    }
}
