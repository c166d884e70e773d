// The outbox of a slow socket against a plain list: append, remove and drop in any order.
//
// The list implements the promise in Outbox's opening comment: of a topic only the newest frame waits, at the position of
// the first; all other frames keep their order and are never dropped; the limit of bytes is never exceeded. Removed frames use
// no memory: their slots are reused.
//
// Frames are never empty, because a WebSocket frame has at least two bytes; Outbox relies on it.

import Fanout

/// First byte: the limit. Then two bytes per step: the operation, and the length or the topic.
enum OutboxCheck {
    private static let topics = 5

    private struct Waiting: Equatable {
        var topic: Int?
        var frame: [UInt8]
    }

    static func run(_ input: [UInt8]) throws(Disagreement) {
        var choices = Choices(input)
        let maxBytes = 8 + 4 * Int(choices.byte())
        var outbox = Outbox<Int>(maxBytes: maxBytes)
        var model: [Waiting] = []
        var step = 0
        while !choices.isOver {
            step += 1
            let (action, value) = (choices.below(16), choices.byte())
            switch action {
            case 0..<9:
                let topic = action < 5 ? Int(value) % self.topics : nil
                try self.add(&outbox, &model, topic: topic, frame: self.frame(step, 2 + Int(value >> 3)))
            case 9..<13:
                let frame = outbox.removeFirst()
                let expected = model.isEmpty ? nil : model.removeFirst().frame
                try require(frame == expected, "step \(step) removed \(frame ?? []) instead of \(expected ?? [])")
            case 13, 14:
                let topic = Int(value) % self.topics
                outbox.drop(topic)
                model.removeAll { $0.topic == topic }
            default:
                // Rare; otherwise nothing would wait for long.
                guard value == 0xFF else { continue }
                outbox.removeAll()
                model.removeAll()
            }
            try self.compare(outbox, model, step)
        }
        while let frame = outbox.removeFirst() {
            try require(
                !model.isEmpty && frame == model.removeFirst().frame, "an unexpected frame at the end: \(frame)")
        }
        try require(model.isEmpty && outbox.isEmpty, "these frames are missing at the end: \(model)")
    }

    private static func add(
        _ outbox: inout Outbox<Int>, _ model: inout [Waiting], topic: Int?, frame: [UInt8]
    ) throws(Disagreement) {
        let place = topic.flatMap { topic in model.firstIndex { $0.topic == topic } }
        let freed = place.map { model[$0].frame.count } ?? 0
        let fits = self.bytes(of: model) - freed + frame.count <= outbox.maxBytes
        let expected: Outbox<Int>.Outcome = !fits ? .overflow : place == nil ? .queued : .replaced
        let outcome = outbox.add(frame, topic.map { .conflated($0) } ?? .ordered)
        try require(outcome == expected, "\(frame.count) bytes of topic \(topic ?? -1): \(outcome), not \(expected)")
        guard fits else { return }
        if let place { model.remove(at: place) }
        model.append(Waiting(topic: topic, frame: frame))
        let places = self.places(of: outbox)
        try require(places <= max(64, 2 * model.count + 2), "\(places) slots are allocated for \(model.count) frames")
    }

    private static func compare(
        _ outbox: Outbox<Int>, _ model: [Waiting], _ step: Int
    ) throws(Disagreement) {
        try require(
            outbox.bytes == self.bytes(of: model),
            "after step \(step) \(outbox.bytes) bytes are reported, but \(self.bytes(of: model)) are waiting")
        try require(outbox.bytes <= outbox.maxBytes, "after step \(step) more bytes are waiting than allowed")
        try require(outbox.isEmpty == model.isEmpty, "after step \(step) isEmpty is \(outbox.isEmpty)")
    }

    private static func bytes(of model: [Waiting]) -> Int { model.reduce(0) { $0 + $1.frame.count } }

    /// A content unique to this frame.
    private static func frame(_ step: Int, _ count: Int) -> [UInt8] {
        [UInt8(step >> 8), UInt8(step & 0xFF)] + [UInt8](repeating: UInt8(ascii: "x"), count: count - 2)
    }

    /// The number of entries in the outbox, including empty ones. Only this test needs it.
    private static func places(of outbox: Outbox<Int>) -> Int {
        Mirror(reflecting: outbox).children.first { $0.label == "waiting" }
            .map { Mirror(reflecting: $0.value).children.count } ?? 0
    }
}
