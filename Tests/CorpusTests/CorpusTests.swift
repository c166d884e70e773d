import Foundation
import TestSupport
import Testing

@testable import FuzzChecks

/// Inputs of the fuzzers, kept: seeds made by hand and what a fuzzer found, replayed in every run.
@Suite struct CorpusTests {
    private static let corpus = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fuzzing/Corpus")

    private static func inputs(of check: FuzzCheck) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(
            at: self.corpus.appending(path: check.rawValue), includingPropertiesForKeys: nil
        ).sorted { $0.path < $1.path }
    }

    @Test(arguments: FuzzCheck.allCases)
    func `no kept input makes code and model differ`(check: FuzzCheck) throws {
        let inputs = try Self.inputs(of: check)
        #expect(inputs.count >= 3, "\(check.rawValue) has seeds")
        for input in inputs {
            #expect(throws: Never.self, "\(check.rawValue)/\(input.lastPathComponent)") {
                try check.run([UInt8](Data(contentsOf: input)))
            }
        }
    }

    @Test(arguments: FuzzCheck.allCases)
    func `neither does an input that was cut, repeated or changed in one byte`(check: FuzzCheck) throws {
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

    /// Of a rider's reports, where what happens is a byte: any history at all, the same in every run.
    @Test(arguments: 0..<8)
    func `whatever happens to a rider's reports, the newest goes out, and all are answered once`(block: UInt64) {
        for seed in 0..<Self.histories {
            var random = SeededGenerator(seed: block * Self.histories + seed)
            let count = Int.random(in: 3...Self.longestHistory, using: &random)
            let input = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            #expect(throws: Never.self, "seed \(block * Self.histories + seed)") {
                try FuzzCheck.reportQueue.run(input)
            }
        }
    }

    /// For each of the eight blocks, which run side by side.
    private static let histories: UInt64 = 500
    /// Bytes, of which two are a step.
    private static let longestHistory = 300
}
