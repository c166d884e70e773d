// Colors of an operator's brand. A page may only use a color whose contrast is sufficient on every background of the
// page (WCAG 2.1, 1.4.3), so the contrast is calculated when the gateway starts.

internal import EnrouteWire

#if canImport(Glibc)
    private import Glibc
#else
    private import Darwin
#endif

/// A color in sRGB.
package struct PageColour: Sendable, Hashable {
    /// 0 to 255.
    package let red, green, blue: UInt8

    package init(red: UInt8, green: UInt8, blue: UInt8) { (self.red, self.green, self.blue) = (red, green, blue) }

    /// - Parameter text: `rrggbb` or `#rrggbb`.
    package init?(_ text: String) {
        let digits = Array(text.utf8.first == UInt8(ascii: "#") ? text.utf8.dropFirst() : text.utf8[...])
        guard digits.count == 6 else { return nil }
        let values = stride(from: 0, to: 6, by: 2).compactMap { start -> UInt8? in
            guard let high = digits[start].hexDigitValue, let low = digits[start + 1].hexDigitValue else { return nil }
            return UInt8(high << 4 | low)
        }
        guard values.count == 3 else { return nil }
        self.init(red: values[0], green: values[1], blue: values[2])
    }

    package var css: String { "#" + [self.red, self.green, self.blue].hexadecimal }

    /// The relative luminance, 0 to 1 (WCAG 2.1).
    package var luminance: Double {
        func linear(_ value: UInt8) -> Double {
            let part = Double(value) / 255
            return part <= 0.03928 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4)
        }
        return 0.2126 * linear(self.red) + 0.7152 * linear(self.green) + 0.0722 * linear(self.blue)
    }

    /// The contrast ratio, 1 to 21.
    package func contrast(with other: PageColour) -> Double {
        let (darker, lighter) = (min(self.luminance, other.luminance), max(self.luminance, other.luminance))
        return (lighter + 0.05) / (darker + 0.05)
    }

    /// Mixes this color with another one.
    ///
    /// - Parameter share: of this color, 0 to 1.
    package func mixed(_ share: Double, with other: PageColour) -> PageColour {
        func mix(_ value: KeyPath<PageColour, UInt8>) -> UInt8 {
            let mixed = Double(self[keyPath: value]) * share + Double(other[keyPath: value]) * (1 - share)
            return UInt8(min(255, max(0, mixed.rounded())))
        }
        return PageColour(red: mix(\.red), green: mix(\.green), blue: mix(\.blue))
    }
}

/// The operator's color in one theme.
package struct PageAccent: Sendable, Hashable {
    package enum Theme: String, Sendable, CaseIterable { case light, dark }

    /// The minimum contrast of text.
    package static let leastContrast = 4.5

    package let colour: PageColour
    let theme: Theme

    /// The backgrounds of text in this color, as in page.css: cards and the page.
    private static func grounds(_ theme: Theme) -> [PageColour] {
        switch theme {
        case .light: [PageColour(red: 255, green: 255, blue: 255), PageColour(red: 0xf3, green: 0xf5, blue: 0xf8)]
        case .dark: [PageColour(red: 0x15, green: 0x1d, blue: 0x26), PageColour(red: 0x0c, green: 0x12, blue: 0x18)]
        }
    }

    private static let white = PageColour(red: 255, green: 255, blue: 255)
    private static let black = PageColour(red: 0, green: 0, blue: 0)

    package init(_ colour: PageColour, _ theme: Theme) { (self.colour, self.theme) = (colour, theme) }

    /// The background of a button under the pointer.
    var soft: PageColour {
        self.colour.mixed(self.theme == .light ? 0.1 : 0.16, with: Self.grounds(self.theme)[0])
    }

    /// The color of text on the accent: the one with more contrast.
    var onAccent: PageColour {
        self.colour.contrast(with: Self.white) >= self.colour.contrast(with: Self.black) ? Self.white : Self.black
    }

    /// The lowest contrast in which the color appears.
    package var contrast: Double {
        (Self.grounds(self.theme) + [self.soft, self.onAccent]).map { self.colour.contrast(with: $0) }.min() ?? 1
    }

    /// The declarations of the page's variables.
    var css: String {
        "--accent: \(self.colour.css); --accent-soft: \(self.soft.css); --on-accent: \(self.onAccent.css);"
            + " --route: \(self.colour.css);"
    }
}
