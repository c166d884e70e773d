// gzip (RFC 1952) with zlib and with a limit on the output: a small file may unpack to a very large one.

private import CZlib
internal import Foundation

enum GzipInput {
    private static let pieceBytes = 1 << 18
    /// A window of 32 KiB, with a gzip header.
    private static let windowBits: Int32 = 15 + 16

    /// All members of a gzip file, one after the other. Zeros may follow the last one, as for gzip(1).
    ///
    /// - Throws: `malformed`, `tooLarge`, `unreadable`.
    static func unpack(_ bytes: UnsafeRawBufferPointer, path: String, maxBytes: Int) throws(StreetInputError) -> Data {
        guard bytes.count <= Int(UInt32.max) else { throw .tooLarge(reason: "\(path) has more than 4 GiB") }
        var stream = z_stream()
        guard inflateInit2_(&stream, self.windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw .unreadable(path: path, reason: "zlib could not allocate memory")
        }
        defer { inflateEnd(&stream) }
        stream.next_in = UnsafeMutablePointer(mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
        stream.avail_in = uInt(bytes.count)
        var output = Data()
        var piece = [UInt8](repeating: 0, count: self.pieceBytes)
        var status = Z_OK
        while status == Z_OK {
            let count = piece.withUnsafeMutableBufferPointer { piece in
                stream.next_out = piece.baseAddress
                stream.avail_out = uInt(piece.count)
                status = CZlib.inflate(&stream, Z_NO_FLUSH)
                return piece.count - Int(stream.avail_out)
            }
            guard output.count + count <= maxBytes else {
                throw .tooLarge(reason: "\(path) unpacks to more than \(maxBytes) bytes")
            }
            output.append(contentsOf: piece[..<count])
            // The next member, if there is one.
            let rest = bytes.suffix(Int(stream.avail_in))
            if status == Z_STREAM_END, rest.contains(where: { $0 != 0 }) { status = inflateReset(&stream) }
        }
        guard status == Z_STREAM_END else {
            throw .malformed(
                path: path, offset: bytes.count - Int(stream.avail_in), reason: "the gzip data is damaged or truncated")
        }
        return output
    }
}
