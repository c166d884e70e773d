import TestSupport
import Testing

@testable import Fanout

@Suite struct OutboxTests {
    private static func frames(_ outbox: inout Outbox<String>) -> [[UInt8]] {
        var frames: [[UInt8]] = []
        while let frame = outbox.removeFirst() { frames.append(frame) }
        return frames
    }

    @Test func `a newer position replaces the queued one and moves to the end`() {
        var outbox = Outbox<String>(maxBytes: 100)
        #expect(outbox.add([1], .conflated("a")) == .queued)
        #expect(outbox.add([2], .ordered) == .queued)
        #expect(outbox.add([3], .conflated("a")) == .replaced)
        #expect(outbox.bytes == 2)
        #expect(Self.frames(&outbox) == [[2], [3]])
        #expect(outbox.isEmpty)
    }

    @Test func `positions of different jobs do not replace each other`() {
        var outbox = Outbox<String>(maxBytes: 100)
        _ = outbox.add([1], .conflated("a"))
        _ = outbox.add([2], .conflated("b"))
        #expect(Self.frames(&outbox) == [[1], [2]])
    }

    @Test func `I3: a position that may no longer be sent is dropped, and the frames behind it are sent`() {
        var outbox = Outbox<String>(maxBytes: 100)
        _ = outbox.add([1], .conflated("a"))
        _ = outbox.add([2], .conflated("b"))
        _ = outbox.add([3], .ordered)
        var frames: [[UInt8]] = []
        while let frame = outbox.removeFirst(ifAllowed: { $0 != "a" }) { frames.append(frame) }
        #expect(frames == [[2], [3]])
        #expect(outbox.isEmpty)
    }

    @Test func `a status that exceeds the limit overflows instead of being dropped`() {
        var outbox = Outbox<String>(maxBytes: 3)
        #expect(outbox.add([1, 1], .ordered) == .queued)
        #expect(outbox.add([2, 2], .ordered) == .overflow)
        #expect(outbox.add([2], .ordered) == .queued)
        #expect(Self.frames(&outbox) == [[1, 1], [2]])
    }

    @Test func `replacing a frame counts only the difference against the limit`() {
        var outbox = Outbox<String>(maxBytes: 4)
        _ = outbox.add([1, 1, 1], .conflated("a"))
        #expect(outbox.add([2, 2, 2, 2], .conflated("a")) == .replaced)
        #expect(outbox.add([3, 3, 3, 3, 3], .conflated("a")) == .overflow)
        #expect(Self.frames(&outbox) == [[2, 2, 2, 2]])
    }

    @Test func `a dropped position is never sent and frees its bytes`() {
        var outbox = Outbox<String>(maxBytes: 4)
        _ = outbox.add([1, 1, 1], .conflated("a"))
        _ = outbox.add([2], .ordered)
        outbox.drop("a")
        outbox.drop("b")
        #expect(outbox.bytes == 1)
        #expect(Self.frames(&outbox) == [[2]])
    }

    @Test(arguments: 0..<20)
    func `D4: statuses stay in order, only the newest positions stay, and the limit holds`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var outbox = Outbox<Int>(maxBytes: 300)
        // The model: frames in the order they are sent.
        var model: [(topic: Int?, frame: [UInt8])] = []
        for step in 0..<5000 {
            let frame = [UInt8](repeating: UInt8(step % 251), count: .random(in: 1...20, using: &random))
            let waiting = model.reduce(0) { $0 + $1.frame.count }
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                let topic = Int.random(in: 0..<6, using: &random)
                let place = model.firstIndex { $0.topic == topic }
                let freed = place.map { model[$0].frame.count } ?? 0
                if waiting - freed + frame.count > 300 {
                    #expect(outbox.add(frame, .conflated(topic)) == .overflow)
                } else {
                    #expect(outbox.add(frame, .conflated(topic)) == (place == nil ? .queued : .replaced))
                    if let place { model.remove(at: place) }
                    model.append((topic, frame))
                }
            case 5..<7:
                if waiting + frame.count > 300 {
                    #expect(outbox.add(frame, .ordered) == .overflow)
                } else {
                    #expect(outbox.add(frame, .ordered) == .queued)
                    model.append((nil, frame))
                }
            case 7:
                let topic = Int.random(in: 0..<6, using: &random)
                outbox.drop(topic)
                model.removeAll { $0.topic == topic }
            default:
                #expect(outbox.removeFirst() == model.first?.frame)
                if !model.isEmpty { model.removeFirst() }
            }
            #expect(outbox.bytes == model.reduce(0) { $0 + $1.frame.count })
        }
    }
}
