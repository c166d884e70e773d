// What pages load is sent compressed to whoever takes it: a third of the bytes on a phone's connection. It is compressed once,
// when the first of it is asked for, not for each request. Nothing that says where somebody is goes this way.

internal import CZlib

/// gzip (RFC 1952) for files of the pages.
package enum PageCompression {
    /// Window of 32 KiB, with a gzip header.
    private static let windowBits: Int32 = 15 + 16
    private static let memoryLevel: Int32 = 8
    /// Shorter files gain nothing that a packet would not hold anyway.
    static let shortest = 512

    /// - Returns: `nil` where it would not be shorter.
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

    /// Whether an `Accept-Encoding` takes gzip (RFC 9110 section 12.5.3).
    package static func isTaken(by header: String) -> Bool {
        header.lowercased().split(separator: ",").contains { part in
            let words = part.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            guard words.first == "gzip" || words.first == "x-gzip" else { return false }
            return !words.dropFirst().contains { $0.hasPrefix("q=") && Double($0.dropFirst(2)) == 0 }
        }
    }
}
