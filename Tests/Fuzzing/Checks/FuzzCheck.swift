// What the fuzzers have in common: an input, a check that takes it, and what happens when the check finds something.
//
// A check is a function of its input alone, so that what a fuzzer finds can be kept as a file in Tests/Fuzzing/Corpus and
// replayed by CorpusTests in every run of the tests. Each compares the code under test with something simpler, written in
// the check and never shared with the code: a model, or the same bytes handed over in other pieces.

/// The input makes two things differ that must be alike.
package struct Disagreement: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// The checks, by the name of their fuzzer and of their folder of inputs.
package enum FuzzCheck: String, CaseIterable, Sendable {
    case followTable = "FuzzFollowTable"
    case httpHead = "FuzzHTTPHead"
    case messages = "FuzzMessages"
    case outbox = "FuzzOutbox"
    case reportQueue = "FuzzReportQueue"
    case resp = "FuzzRESP"
    case webSocket = "FuzzWebSocket"

    /// Bytes of an input, at most; of a longer one the rest is passed over.
    package static let longestInput = 4096

    package func run(_ input: [UInt8]) throws(Disagreement) {
        let input = Array(input.prefix(Self.longestInput))
        switch self {
        case .followTable: try FollowTableCheck.run(input)
        case .httpHead: try HTTPHeadCheck.run(input)
        case .messages: try MessagesCheck.run(input)
        case .outbox: try OutboxCheck.run(input)
        case .reportQueue: try ReportQueueCheck.run(input)
        case .resp: try RESPCheck.run(input)
        case .webSocket: try WebSocketCheck.run(input)
        }
    }

    /// What libFuzzer calls. A disagreement ends the process, and libFuzzer keeps the input of a process that ends.
    package func test(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        do throws(Disagreement) {
            try self.run(Array(UnsafeBufferPointer(start: start, count: count)))
        } catch {
            fatalError("\(self.rawValue): \(error)")
        }
        return 0
    }
}

/// - Parameter what: a sentence of what is not so.
func require(_ condition: Bool, _ what: @autoclosure () -> String) throws(Disagreement) {
    if !condition { throw Disagreement(what()) }
}

/// An input read as a row of small decisions; once it is used up every one of them is 0.
struct Choices {
    private var rest: ArraySlice<UInt8>

    init(_ input: [UInt8]) { self.rest = input[...] }

    var isOver: Bool { self.rest.isEmpty }

    mutating func byte() -> UInt8 { self.rest.popFirst() ?? 0 }

    /// 0 up to `count`, which must be 1 to 256.
    mutating func below(_ count: Int) -> Int { Int(self.byte()) % count }
}

/// Where a stream is cut, as a network may cut it.
enum Cut: Hashable {
    case nowhere
    case everywhere
    /// Pieces of 1 to 64 bytes, the same for the same seed.
    case somewhere(seed: UInt8)

    /// All three ways: what comes out must not depend on it.
    static func all(seed: UInt8) -> [Cut] { [.nowhere, .everywhere, .somewhere(seed: seed)] }

    func pieces(_ bytes: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        var pieces: [ArraySlice<UInt8>] = []
        var rest = bytes
        var state = UInt32(0x9E37_79B9)
        if case .somewhere(let seed) = self { state ^= UInt32(seed) &* 0x85EB_CA6B }
        while !rest.isEmpty {
            let count: Int
            switch self {
            case .nowhere: count = rest.count
            case .everywhere: count = 1
            case .somewhere:
                state = state &* 1_664_525 &+ 1_013_904_223
                count = 1 + Int(state >> 16) % (state >> 30 == 0 ? 64 : 7)
            }
            pieces.append(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
        return pieces
    }
}
