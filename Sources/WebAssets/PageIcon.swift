// Draws the icons of an installed page: a white pin on blue. Drawn by a formula, they exist in every size without image
// files. A deployment's own files replace them.

internal import CZlib

/// A square image with the pin in its center.
struct PageIcon: Sendable {
    let pixels: Int
    /// Whether the system cuts its own shape out of the image (W3C Web App Manifest, maskable icons). The background then
    /// extends to the edges, and the pin stays within the central 80 %.
    let isMaskable: Bool

    static let small = Self(pixels: 192, isMaskable: false).png
    static let large = Self(pixels: 512, isMaskable: false).png
    static let maskable = Self(pixels: 512, isMaskable: true).png

    private static let ground: [Double] = [11, 92, 173]
    private static let pin: [Double] = [255, 255, 255]

    /// The number of shades at an edge. Few shades fit into a palette, so a pixel is one byte, which takes a quarter of
    /// the space.
    private static let steps = 16

    /// The image as a PNG with a palette and transparency (W3C PNG, third edition).
    var png: [UInt8] {
        var rows: [UInt8] = []
        rows.reserveCapacity(self.pixels * (self.pixels + 1))
        for row in 0..<self.pixels {
            rows.append(0)
            for column in 0..<self.pixels { rows.append(self.colour(column, row)) }
        }
        let size = UInt32(self.pixels).bytes
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            // 8 bits per pixel, an index into the palette; no interlacing.
            + Self.chunk("IHDR", size + size + [8, 3, 0, 0, 0]) + Self.chunk("PLTE", Self.palette)
            + Self.chunk("tRNS", Self.transparency) + Self.chunk("IDAT", Self.compressed(rows)) + Self.chunk("IEND", [])
    }

    /// From transparent to the background, then from the background to the pin.
    private static var palette: [UInt8] {
        (0...2 * Self.steps).flatMap { step in
            let pin = Double(max(0, step - Self.steps)) / Double(Self.steps)
            return zip(Self.ground, Self.pin).map { UInt8(($0 * (1 - pin) + $1 * pin).rounded()) }
        }
    }

    private static var transparency: [UInt8] {
        (0...2 * Self.steps).map { UInt8((255 * Double(min($0, Self.steps)) / Double(Self.steps)).rounded()) }
    }

    /// Returns the palette index of a pixel. Edges are one pixel soft.
    private func colour(_ column: Int, _ row: Int) -> UInt8 {
        let scale = Double(self.pixels)
        // Relative to the center, in image widths.
        let (x, y) = ((Double(column) + 0.5) / scale - 0.5, (Double(row) + 0.5) / scale - 0.5)
        func steps(_ distance: Double) -> UInt8 {
            UInt8((min(1, max(0, 0.5 - distance * scale)) * Double(Self.steps)).rounded())
        }
        let ground = self.isMaskable ? UInt8(Self.steps) : steps(Self.roundedSquare(x, y))
        let size = self.isMaskable ? 0.8 : 1.0
        // The pin lies entirely on the background.
        return ground < Self.steps ? ground : ground + steps(Self.pinShape(x / size, y / size) * size)
    }

    /// Returns the distance of a point to the shape; negative inside.
    private static func roundedSquare(_ x: Double, _ y: Double) -> Double {
        let (half, corner) = (0.5, 0.22)
        let (dx, dy) = (max(0, abs(x) - half + corner), max(0, abs(y) - half + corner))
        return (dx * dx + dy * dy).squareRoot() - corner
    }

    /// Returns the distance to a disc that tapers to a point below, with a hole.
    private static func pinShape(_ x: Double, _ y: Double) -> Double {
        let (disc, point, length, hole, top) = (0.19, 0.012, 0.36, 0.075, -0.11)
        let (x, y) = (abs(x), y - top)
        let lean = (disc - point) / length
        let side = (1 - lean * lean).squareRoot()
        let along = side * y - lean * x
        let outside: Double
        if along < 0 {
            outside = (x * x + y * y).squareRoot() - disc
        } else if along > side * length {
            outside = (x * x + (y - length) * (y - length)).squareRoot() - point
        } else {
            outside = side * x + lean * y - disc
        }
        return max(outside, hole - (x * x + y * y).squareRoot())
    }

    private static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
        let body = Array(name.utf8) + content
        let sum = body.withUnsafeBufferPointer { crc32(0, $0.baseAddress, uInt($0.count)) }
        return UInt32(content.count).bytes + body + UInt32(truncatingIfNeeded: sum).bytes
    }

    /// Compresses bytes in the zlib format (RFC 1950).
    private static func compressed(_ bytes: [UInt8]) -> [UInt8] {
        var length = compressBound(uLong(bytes.count))
        var output = [UInt8](repeating: 0, count: Int(length))
        let status = compress2(&output, &length, bytes, uLong(bytes.count), Z_BEST_COMPRESSION)
        precondition(status == Z_OK, "zlib output exceeds compressBound")
        return Array(output.prefix(Int(length)))
    }
}

extension UInt32 {
    /// The bytes in network byte order.
    fileprivate var bytes: [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: self >> $0) } }
}
