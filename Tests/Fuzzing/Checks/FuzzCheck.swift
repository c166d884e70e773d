// The common parts of the fuzzers: an input, a check that consumes it, and the handling of findings.
//
// A check is a function of only its input, so that findings can be stored in Tests/Fuzzing/Corpus and replayed by CorpusTests
// in every test run. Each check compares the code under test with something simpler that is written in the check and never
// shared with the code: a model, or the same bytes split differently.

/// The input makes two results differ that must be equal.
package struct Disagreement: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// The checks, named after their fuzzer and their corpus folder.
package enum FuzzCheck: String, CaseIterable, Sendable {
    case followTable = "FuzzFollowTable"
    case httpHead = "FuzzHTTPHead"
    case messages = "FuzzMessages"
    case outbox = "FuzzOutbox"
    case proxyHeader = "FuzzProxyHeader"
    case reportQueue = "FuzzReportQueue"
    case resp = "FuzzRESP"
    case webSocket = "FuzzWebSocket"

    /// Maximum length of an input in bytes; the rest is ignored.
    package static let longestInput = 4096

    package func run(_ input: [UInt8]) throws(Disagreement) {
        let input = Array(input.prefix(Self.longestInput))
        switch self {
        case .followTable: try FollowTableCheck.run(input)
        case .httpHead: try HTTPHeadCheck.run(input)
        case .messages: try MessagesCheck.run(input)
        case .outbox: try OutboxCheck.run(input)
        case .proxyHeader: try ProxyHeaderCheck.run(input)
        case .reportQueue: try ReportQueueCheck.run(input)
        case .resp: try RESPCheck.run(input)
        case .webSocket: try WebSocketCheck.run(input)
        }
    }

    /// Called by libFuzzer. A disagreement aborts the process, and libFuzzer saves the input.
    package func test(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        do throws(Disagreement) {
            try self.run(Array(UnsafeBufferPointer(start: start, count: count)))
        } catch {
            fatalError("\(self.rawValue): \(error)")
        }
        return 0
    }
}

/// - Parameter what: a sentence that describes the disagreement.
func require(_ condition: Bool, _ what: @autoclosure () -> String) throws(Disagreement) {
    if !condition { throw Disagreement(what()) }
}

/// An input read as a sequence of small decisions; after its end each of them is 0.
struct Choices {
    private var rest: ArraySlice<UInt8>

    init(_ input: [UInt8]) { self.rest = input[...] }

    var isOver: Bool { self.rest.isEmpty }

    mutating func byte() -> UInt8 { self.rest.popFirst() ?? 0 }

    /// 0 through `count`, which must be 1 to 256.
    mutating func below(_ count: Int) -> Int { Int(self.byte()) % count }
}

/// How a stream is split, as a network may split it.
enum Cut: Hashable {
    case nowhere
    case everywhere
    /// Chunks of 1 to 64 bytes, the same for the same seed.
    case somewhere(seed: UInt8)

    /// All three ways; the result must not depend on it.
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
