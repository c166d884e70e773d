// The blocks of an OpenStreetMap extract (.osm.pbf): https://wiki.openstreetmap.org/wiki/PBF_Format.

internal import CZlib

/// An extract, mapped into memory.
final class OSMExtract {
    private let file: MappedFile
    let path: String
    private var unpacked: [UInt8] = []

    /// The bounds of the format, in bytes.
    static let maxHeaderBytes = 64 * 1024
    static let maxBlobBytes = 32 * 1024 * 1024
    /// The file features that this reader supports.
    private static let features: Set = ["OsmSchema-V0.6", "DenseNodes"]

    init(_ file: MappedFile, path: String) { (self.file, self.path) = (file, path) }

    /// Whether a file starts like an extract.
    static func isExtract(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // The size of the first header, its field 1, and the text OSMHeader.
        bytes.count > 15 && bytes[0] == 0 && bytes[4] == 0x0A && bytes[5] == 9
            && bytes[6..<15].elementsEqual("OSMHeader".utf8)
    }

    /// Calls `body` with each block of data.
    func visitBlocks(_ body: (OSMBlock) throws -> Void) throws(StreetInputError) {
        let bytes = self.file.bytes
        var offset = 0
        while offset < bytes.count {
            let start = offset
            do {
                guard bytes.count - offset >= 4 else { throw ProtobufError(reason: "the file is truncated") }
                let headerBytes = Int(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
                offset += 4
                guard headerBytes <= Self.maxHeaderBytes, headerBytes <= bytes.count - offset else {
                    throw ProtobufError(reason: "a header has \(headerBytes) bytes, or the file is truncated")
                }
                let header = try BlobHeader(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + headerBytes]))
                offset += headerBytes
                guard header.blobBytes <= Self.maxBlobBytes, header.blobBytes <= bytes.count - offset else {
                    throw ProtobufError(reason: "a block has \(header.blobBytes) bytes, or the file is truncated")
                }
                let blob = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + header.blobBytes])
                offset += header.blobBytes
                guard ["OSMHeader", "OSMData"].contains(header.type) else { continue }
                try self.unpack(blob)
                try self.unpacked.withUnsafeBytes { block in
                    if header.type == "OSMHeader" { try self.check(block) } else { try body(try OSMBlock(block)) }
                }
            } catch let error as StreetInputError {
                throw error
            } catch {
                throw .malformed(
                    path: self.path, offset: start, reason: (error as? ProtobufError)?.reason ?? "\(error)")
            }
        }
    }

    private struct BlobHeader {
        var type = ""
        var blobBytes = 0

        init(_ bytes: UnsafeRawBufferPointer) throws(ProtobufError) {
            var reader = ProtobufReader(bytes)
            while let (field, value) = try reader.next() {
                switch (field, value) {
                case (1, .bytes(let text)): self.type = String(decoding: text, as: UTF8.self)
                case (3, .varint(let count)): self.blobBytes = Int(clamping: count)
                default: break
                }
            }
        }
    }

    /// Checks that this reader supports all features that the extract requires.
    private func check(_ header: UnsafeRawBufferPointer) throws {
        var reader = ProtobufReader(header)
        while let (field, value) = try reader.next() {
            guard field == 4, case .bytes(let text) = value else { continue }
            let feature = String(decoding: text.prefix(100), as: UTF8.self)
            guard Self.features.contains(feature) else {
                throw StreetInputError.unsupported(path: self.path, feature: feature)
            }
        }
    }

    /// Unpacks a blob into `unpacked`.
    private func unpack(_ blob: UnsafeRawBufferPointer) throws {
        var reader = ProtobufReader(blob)
        var size: Int?
        var packed: UnsafeRawBufferPointer?
        while let (field, value) = try reader.next() {
            switch (field, value) {
            case (1, .bytes(let raw)):
                self.unpacked = Array(raw)
                return
            case (2, .varint(let count)): size = Int(clamping: count)
            case (3, .bytes(let data)): packed = data
            case (4, .bytes), (5, .bytes), (6, .bytes), (7, .bytes):
                let names: [UInt64: String] = [4: "lzma", 5: "bzip2", 6: "lz4", 7: "zstd"]
                throw StreetInputError.unsupported(path: self.path, feature: "compression \(names[field] ?? "")")
            default: break
            }
        }
        guard let packed, let size, (0...Self.maxBlobBytes).contains(size) else {
            throw ProtobufError(reason: "a block has no data, or more than \(Self.maxBlobBytes) bytes")
        }
        self.unpacked = [UInt8](repeating: 0, count: size)
        var count = uLong(size)
        let status = self.unpacked.withUnsafeMutableBytes { unpacked in
            CZlib.uncompress(
                unpacked.bindMemory(to: UInt8.self).baseAddress, &count,
                packed.bindMemory(to: UInt8.self).baseAddress, uLong(packed.count))
        }
        guard status == Z_OK, count == uLong(size) else {
            throw ProtobufError(reason: "a compressed block cannot be unpacked")
        }
    }
}
