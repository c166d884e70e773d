import Foundation
import TestSupport
import Testing

@testable import FuzzChecks

/// The corpus of the fuzzers: hand-made seeds and past findings, replayed in every run.
@Suite struct CorpusTests {
    private static let corpus = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fuzzing/Corpus")

    private static func inputs(of check: FuzzCheck) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(
            at: self.corpus.appending(path: check.rawValue), includingPropertiesForKeys: nil
        ).sorted { $0.path < $1.path }
    }

    @Test(arguments: FuzzCheck.allCases)
    func `no corpus input makes code and model differ`(check: FuzzCheck) throws {
        let inputs = try Self.inputs(of: check)
        #expect(inputs.count >= 3, "\(check.rawValue) has seeds")
        for input in inputs {
            #expect(throws: Never.self, "\(check.rawValue)/\(input.lastPathComponent)") {
                try check.run([UInt8](Data(contentsOf: input)))
            }
        }
    }

    @Test(arguments: FuzzCheck.allCases)
    func `no shortened, repeated or slightly changed corpus input makes them differ`(check: FuzzCheck) throws {
        for input in try Self.inputs(of: check) {
            let bytes = [UInt8](try Data(contentsOf: input))
            var changed = bytes
            if !changed.isEmpty { changed[changed.count / 2] ^= 0x55 }
            for variant in [Array(bytes.prefix(bytes.count / 2)), bytes + bytes, changed] {
                #expect(throws: Never.self, "a variant of \(check.rawValue)/\(input.lastPathComponent)") {
                    try check.run(variant)
                }
            }
        }
    }

    /// Random sequences of events for a rider's reports, where each event is a byte; the same in every run.
    @Test(arguments: 0..<8)
    func `the newest report is sent and every report is answered once, whatever happens`(block: UInt64) {
        for seed in 0..<Self.histories {
            var random = SeededGenerator(seed: block * Self.histories + seed)
            let count = Int.random(in: 3...Self.longestHistory, using: &random)
            let input = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            #expect(throws: Never.self, "seed \(block * Self.histories + seed)") {
                try FuzzCheck.reportQueue.run(input)
            }
        }
    }

    /// For each of the eight blocks, which run in parallel.
    private static let histories: UInt64 = 500
    /// Input bytes; two of them are one step.
    private static let longestHistory = 300
}
