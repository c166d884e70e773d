import Testing

@testable import REST

/// The colors of an operator's brand.
@Suite struct PageColourTests {
    private static func colour(_ text: String) throws -> PageColour { try #require(PageColour(text)) }

    @Test func `contrast is that of WCAG`() throws {
        let (white, black) = (try Self.colour("#ffffff"), try Self.colour("#000000"))
        #expect(white.contrast(with: black) == 21 && black.contrast(with: white) == 21)
        #expect(white.contrast(with: white) == 1)
        // The example of WCAG: #767676 is the lightest gray with a contrast of 4.5 to 1 on white.
        #expect(try Self.colour("#767676").contrast(with: white) >= 4.5)
        #expect(try Self.colour("#777777").contrast(with: white) < 4.5)
    }

    @Test(arguments: ["", "#", "#12345", "#1234567", "12345", "##12345", "#12345g", "#+12345", "#１２３４５６"])
    func `only six hexadecimal digits are a color`(text: String) { #expect(PageColour(text) == nil) }

    @Test func `a color is written in the form in which it was read`() throws {
        #expect(try Self.colour("#0A5bC4").css == "#0a5bc4")
        #expect(try Self.colour("0A5bC4").css == "#0a5bc4")
    }

    @Test(arguments: PageAccent.Theme.allCases)
    func `text on an accepted accent is readable`(theme: PageAccent.Theme) throws {
        var accepted = 0
        for red in stride(from: 0, through: 255, by: 51) {
            for green in stride(from: 0, through: 255, by: 51) {
                for blue in stride(from: 0, through: 255, by: 51) {
                    let accent = PageAccent(PageColour(red: UInt8(red), green: UInt8(green), blue: UInt8(blue)), theme)
                    guard accent.contrast >= PageAccent.leastContrast else { continue }
                    accepted += 1
                    #expect(accent.colour.contrast(with: accent.onAccent) >= 4.5)
                    #expect(accent.colour.contrast(with: accent.soft) >= 4.5)
                }
            }
        }
        #expect(accepted > 40 && accepted < 200)
    }
}
