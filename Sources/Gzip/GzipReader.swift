// gzip (RFC 1952) with zlib and with a limit on the output: a small file may unpack to a very large one.

private import CZlib
package import FoundationEssentials

/// Unpacks gzip files.
package enum GzipReader {
    private static let pieceBytes = 1 << 18
    /// A window of 32 KiB, with a gzip header.
    private static let windowBits: Int32 = 15 + 16

    /// Returns all members of a gzip file, one after the other. Zeros may follow the last one, as for gzip(1).
    ///
    /// - Parameter maxBytes: the maximum size of the result.
    package static func unpack(_ bytes: UnsafeRawBufferPointer, maxBytes: Int) throws(GzipError) -> Data {
        var stream = z_stream()
        guard inflateInit2_(&stream, self.windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw .outOfMemory
        }
        defer { inflateEnd(&stream) }
        var output = Data()
        var piece = [UInt8](repeating: 0, count: self.pieceBytes)
        var (offset, status) = (0, Z_OK)
        while status == Z_OK {
            // zlib counts in 32 bits, and a file may be longer.
            let input = UnsafeRawBufferPointer(rebasing: bytes[offset...].prefix(Int(uInt.max)))
            stream.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
            stream.avail_in = uInt(input.count)
            let count = piece.withUnsafeMutableBufferPointer { piece in
                stream.next_out = piece.baseAddress
                stream.avail_out = uInt(piece.count)
                status = inflate(&stream, Z_NO_FLUSH)
                return piece.count - Int(stream.avail_out)
            }
            offset += input.count - Int(stream.avail_in)
            guard output.count + count <= maxBytes else { throw .tooLarge(maxBytes: maxBytes) }
            output.append(contentsOf: piece[..<count])
            // The next member, if there is one.
            if status == Z_STREAM_END, bytes[offset...].contains(where: { $0 != 0 }) { status = inflateReset(&stream) }
        }
        guard status == Z_STREAM_END else {
            let reason = stream.msg.map { String(cString: $0) } ?? "zlib returned \(status)"
            throw .damaged(offset: offset, reason: status == Z_BUF_ERROR ? "the data is truncated" : reason)
        }
        return output
    }

    /// The same for data in memory.
    package static func unpack(_ data: Data, maxBytes: Int) throws(GzipError) -> Data {
        try data.withUnsafeBytes { bytes in
            Result { () throws(GzipError) in try self.unpack(bytes, maxBytes: maxBytes) }
        }.get()
    }
}

/// Why a gzip file cannot be unpacked.
package enum GzipError: Error, Hashable {
    /// - Parameters:
    ///   - offset: up to where the file could be read, in bytes.
    ///   - reason: a clause, such as "the data is truncated".
    case damaged(offset: Int, reason: String)
    case tooLarge(maxBytes: Int)
    case outOfMemory
}
