import Foundation
import Testing

/// `enroute eta-accuracy`, run as a user runs it.
@Suite struct ETAAccuracyTests {
    /// Half an hour north, with a fix every five seconds.
    private static var recording: String {
        let rows = (0...360).map { step in
            "\(1_795_000_000_000 + step * 5000),\(48 + Double(step) * 0.0004),16.4"
        }
        return (["unix_ms,lat,lon"] + rows).joined(separator: "\n") + "\n"
    }

    @Test func `errors of arrival times are compared with those of a straight line, for each horizon`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-score-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (file, still) = (folder.appending(path: "trip.csv"), folder.appending(path: "still.csv"))
        try Self.recording.write(to: file, atomically: true, encoding: .utf8)
        try "unix_ms,lat,lon\n1795000000000,0,0\n1795000001000,0,0\n".write(
            to: still, atomically: true, encoding: .utf8)
        let outcome = try await CommandTests.run(["eta-accuracy", file.path, still.path])
        #expect(outcome.code == 0 && outcome.error.isEmpty)
        #expect(outcome.output.contains("trip.csv: 29 min to the arrival, 361 fixes accepted, 0 held, 0 refused"))
        #expect(outcome.output.contains("still.csv: fewer than two fixes were accepted"))
        // The recording is a straight road at constant speed, which the straight line predicts best.
        for minutes in ["| 5 | ", "| 10 | ", "| 20 | "] { #expect(outcome.output.contains("\n" + minutes)) }
    }
}
