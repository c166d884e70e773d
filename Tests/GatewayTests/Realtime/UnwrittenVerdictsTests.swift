import Testing
import Tracking

@testable import Realtime

/// Which verdicts are written to Redis, and when. Times in seconds.
@Suite struct UnwrittenVerdictsTests {
    private var verdicts = UnwrittenVerdicts()

    private mutating func due(at seconds: UInt64, isLast: Bool = false) -> [FixVerdictName: Int] {
        let due = self.verdicts.due(now: seconds * 1_000_000_000, isLast: isLast)
        return Dictionary(uniqueKeysWithValues: due.map { ($0.verdict, $0.count) })
    }

    @Test mutating func `the first accepted readings of a trip are written`() {
        self.verdicts.add(.accepted, 2)
        #expect(self.due(at: 5) == [.accepted: 2])
        #expect(self.verdicts.isEmpty)
    }

    @Test mutating func `further accepted readings are written together after a minute`() {
        self.verdicts.add(.accepted, 1)
        _ = self.due(at: 5)
        for time in [10, 15, 20] as [UInt64] {
            self.verdicts.add(.accepted, 1)
            #expect(self.due(at: time) == [:])
        }
        #expect(!self.verdicts.isEmpty)
        #expect(self.due(at: 65) == [.accepted: 3])
    }

    @Test mutating func `a trip is known to Redis from its first write on`() {
        #expect(!self.verdicts.wasWritten)
        _ = self.due(at: 4)
        #expect(!self.verdicts.wasWritten, "there was nothing to write")
        self.verdicts.add(.accepted, 1)
        #expect(!self.verdicts.wasWritten)
        _ = self.due(at: 5)
        #expect(self.verdicts.wasWritten)
        self.verdicts.add(.accepted, 1)
        _ = self.due(at: 6)
        #expect(self.verdicts.wasWritten && !self.verdicts.isEmpty)
    }

    @Test mutating func `a refusal is written with everything else`() {
        self.verdicts.add(.accepted, 1)
        _ = self.due(at: 5)
        self.verdicts.add(.accepted, 4)
        self.verdicts.add(.refused(.implausibleSpeed), 1)
        #expect(self.due(at: 10) == [.accepted: 4, .refused(.implausibleSpeed): 1])
    }

    @Test mutating func `when the trip ends, everything is written`() {
        self.verdicts.add(.accepted, 1)
        _ = self.due(at: 5)
        self.verdicts.add(.accepted, 1)
        #expect(self.due(at: 6, isLast: true) == [.accepted: 1])
        #expect(self.due(at: 7, isLast: true) == [:])
    }
}
