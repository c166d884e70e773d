// Compresses what pages load, to a third of the bytes, once on first use instead of for each request. Nothing that reveals a
// location is compressed.

internal import CZlib

/// gzip (RFC 1952) for the files of the pages.
package enum PageCompression {
    /// A window of 32 KiB, with a gzip header.
    private static let windowBits: Int32 = 15 + 16
    private static let memoryLevel: Int32 = 8
    /// Files below this size fit into one packet anyway.
    static let shortest = 512

    /// Returns the compressed bytes, or `nil` if they would not be shorter.
    package static func gzip(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count >= Self.shortest else { return nil }
        var stream = z_stream()
        let size = Int32(MemoryLayout<z_stream>.size)
        guard
            deflateInit2_(
                &stream, Z_BEST_COMPRESSION, Z_DEFLATED, Self.windowBits, Self.memoryLevel, Z_DEFAULT_STRATEGY,
                ZLIB_VERSION, size) == Z_OK
        else { return nil }
        defer { deflateEnd(&stream) }
        var input = bytes
        var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, uLong(bytes.count))))
        let status = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = uInt(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = uInt(output.count)
                return deflate(&stream, Z_FINISH)
            }
        }
        guard status == Z_STREAM_END else { return nil }
        output.removeLast(Int(stream.avail_out))
        return output.count < bytes.count ? output : nil
    }

    /// Returns whether an `Accept-Encoding` header accepts gzip (RFC 9110 section 12.5.3).
    package static func isTaken(by header: String) -> Bool {
        header.lowercased().split(separator: ",").contains { part in
            let words = part.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            guard words.first == "gzip" || words.first == "x-gzip" else { return false }
            return !words.dropFirst().contains { $0.hasPrefix("q=") && Double($0.dropFirst(2)) == 0 }
        }
    }
}
