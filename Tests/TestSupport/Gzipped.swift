// Data as gzip(1) writes it.

private import CZlib
package import FoundationEssentials

/// One member of a gzip file.
package func gzipped(_ data: Data) -> Data {
    var stream = z_stream()
    let status = deflateInit2_(
        &stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    precondition(status == Z_OK, "zlib has memory")
    defer { deflateEnd(&stream) }
    var input = [UInt8](data)
    var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, uLong(data.count))))
    let count = input.withUnsafeMutableBufferPointer { input in
        output.withUnsafeMutableBufferPointer { output in
            (stream.next_in, stream.avail_in) = (input.baseAddress, uInt(input.count))
            (stream.next_out, stream.avail_out) = (output.baseAddress, uInt(output.count))
            let status = deflate(&stream, Z_FINISH)
            precondition(status == Z_STREAM_END, "the output has room for everything")
            return output.count - Int(stream.avail_out)
        }
    }
    return Data(output[..<count])
}
