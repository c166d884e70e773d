import EnrouteWire
import Foundation
import Testing

@testable import enroute

/// The protocol's table of limits against the settings of limits.
@Suite struct LimitTableTests {
    private static let table = try! String(
        contentsOfFile: URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../Sources/EnrouteWire/protocol/limits.md"
        ).path, encoding: .utf8)

    @Test func `the protocol lists every limit that can be set, and where 0 switches one off`() {
        for limit in LimitSetting.all {
            guard case .integer(let range, _) = limit.setting.type else { continue }
            let name = limit.shortName
            let base = name.replacing("_BURST", with: "_PER_SECOND")
            let isBurst = name.hasSuffix("_BURST")
            let row = Self.table.split(separator: "\n").first { line in
                line.contains("`\(name)`") || isBurst && line.contains("`\(base)`") && line.contains("_BURST`")
            }
            #expect(row != nil, "\(name) has no row")
            // For these limits, 0 permits nothing.
            let isCount = ["MALFORMED_MESSAGES", "MESSAGES_BEFORE_SIGN_IN"].contains(name)
            guard !isBurst, range.contains(0), !isCount else { continue }
            #expect(row?.contains("`\(name)` (0)") == true, "\(name): 0 is allowed, but the table does not say so")
        }
    }

    @Test func `B34: a rate of 0 switches each limit per address off`() throws {
        let names = ["MESSAGES", "REFUSED_TOKENS", "ANONYMOUS_REQUESTS", "TILES"].map {
            "ENROUTE_LIMIT_\($0)_PER_ADDRESS_PER_SECOND"
        }
        let file = FileManager.default.temporaryDirectory.appending(path: "enroute-limits-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try names.map { "\($0)=0\n" }.joined().write(toFile: file, atomically: true, encoding: .utf8)
        let limits = try ProcessConfiguration(file: file, command: nil).limits()
        for burst in [
            limits.messagesPerAddressBurst, limits.refusedTokensPerAddressBurst,
            limits.anonymousRequestsPerAddressBurst,
            limits.tilesPerAddressBurst,
        ] {
            #expect(burst == 0)
        }
    }
}
