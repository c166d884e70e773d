import EnrouteWire
import Foundation
import Testing

@testable import enroute

/// The limits that protocol/limits.md documents, compared with the settings that the process reads.
@Suite struct LimitTableTests {
    private static let table = try! String(
        contentsOfFile: URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../Sources/EnrouteWire/protocol/limits.md"
        ).path, encoding: .utf8)

    @Test func `the table lists every limit that can be set, and marks those that 0 switches off`() {
        for setting in LimitSetting.all {
            let base = setting.name.replacing("_BURST", with: "_PER_SECOND")
            let isBurst = setting.name.hasSuffix("_BURST")
            let row = Self.table.split(separator: "\n").first { line in
                line.contains("`\(setting.name)`") || isBurst && line.contains("`\(base)`") && line.contains("_BURST`")
            }
            #expect(row != nil, "\(setting.name) has no row")
            // Of these 0 is none at all.
            let isCount = ["MALFORMED_MESSAGES", "MESSAGES_BEFORE_SIGN_IN"].contains(setting.name)
            guard !isBurst, setting.range.contains(0), !isCount else { continue }
            #expect(row?.contains("`\(setting.name)` (0)") == true, "\(setting.name): 0 is allowed but not marked")
        }
    }

    @Test func `B34: 0 per second switches each limit of an address off`() async throws {
        let names = ["MESSAGES", "REFUSED_TOKENS", "ANONYMOUS_REQUESTS", "TILES"].map {
            "ENROUTE_LIMIT_\($0)_PER_ADDRESS_PER_SECOND"
        }
        let file = FileManager.default.temporaryDirectory.appending(path: "enroute-limits-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try names.map { "\($0)=0\n" }.joined().write(toFile: file, atomically: true, encoding: .utf8)
        let limits = try await ProcessConfiguration(file: file).limits()
        for burst in [
            limits.messagesPerAddressBurst, limits.refusalsPerAddressBurst, limits.visitsPerAddressBurst,
            limits.tilesPerAddressBurst,
        ] {
            #expect(burst == 0)
        }
    }
}
