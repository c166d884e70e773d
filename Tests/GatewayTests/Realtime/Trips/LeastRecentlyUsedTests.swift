import NIOCore
import TestSupport
import Testing

@testable import Realtime

/// Which entry of a full table makes room for a new one.
@Suite struct LeastRecentlyUsedTests {
    private static func at(_ time: Int) -> NIODeadline { .uptimeNanoseconds(UInt64(time)) }

    @Test func `an empty table has no oldest entry`() {
        var oldest = LeastRecentlyUsed<Int>()
        #expect(oldest.next(in: [Int: NIODeadline](), by: \.self) == nil)
    }

    @Test func `an entry that was used since the last eviction stays`() {
        var oldest = LeastRecentlyUsed<Int>()
        var table = Dictionary(uniqueKeysWithValues: (0..<32).map { ($0, Self.at($0)) })
        #expect(oldest.next(in: table, by: \.self) == 0)
        table[0] = nil
        table[1] = Self.at(100)
        #expect(oldest.next(in: table, by: \.self) == 2)
    }

    @Test func `a table with one entry evicts it, again and again`() {
        var oldest = LeastRecentlyUsed<Int>()
        for key in 0..<5 { #expect(oldest.next(in: [key: Self.at(key)], by: \.self) == key) }
    }

    @Test(arguments: 0..<5, [1, 2, 9, 100])
    func `the least recently used entry is evicted, whatever was used, added and removed`(seed: UInt64, most: Int) {
        var random = SeededGenerator(seed: seed)
        var oldest = LeastRecentlyUsed<Int>()
        var table: [Int: NIODeadline] = [:]
        for now in 0..<2_000 {
            let key = Int.random(in: 0..<(most * 2), using: &random)
            if Int.random(in: 0..<10, using: &random) == 0 {
                table[key] = nil
                continue
            }
            if table[key] == nil, table.count >= most {
                let evicted = oldest.next(in: table, by: \.self)
                #expect(evicted == table.min { $0.value < $1.value }?.key)
                if let evicted { table[evicted] = nil }
            }
            table[key] = Self.at(now)
            #expect(table.count <= most)
        }
    }

    @Test func `evictions from a full table read its entries a few times each, not once for each eviction`() {
        var oldest = LeastRecentlyUsed<Int>()
        var table = Dictionary(uniqueKeysWithValues: (0..<1_000).map { ($0, Self.at($0)) })
        var reads = 0
        for key in 1_000..<2_000 {
            let evicted = oldest.next(in: table) { time in
                reads += 1
                return time
            }
            if let evicted { table[evicted] = nil }
            table[key] = Self.at(key)
        }
        #expect(table.keys.sorted() == Array(1_000..<2_000))
        #expect(reads < 20_000)
    }
}
