// A client's bytes after the upgrade, split anywhere: through the frame reader, and through a whole session.
//
// The reader must produce what the reference produces. The session must respond as the reference and the codec predict: one
// frame per message that wants one, in order, a close frame as the last, and nothing leaks.

import Access
import EnrouteWire
import NIOCore

@testable import Gateway
@testable import Realtime
@testable import WebSocket

/// First byte: the role of the session. Second: how to split. The rest: the client's bytes.
enum WebSocketCheck {
    static func run(_ input: [UInt8]) throws(Disagreement) {
        guard input.count >= 2 else { return }
        let stream = input.dropFirst(2)
        for messageBytes in [EmbeddedGateway.messageBytes, 1 << 20] {
            let bounds = WebSocketReader.Bounds(
                messageBytes: messageBytes, messageFragments: EmbeddedGateway.messageFragments)
            for cut in Cut.all(seed: input[1]) { try self.read(stream, bounds, cut) }
        }
        let isUTF8 = stream.withUnsafeBytes { $0.isUTF8 }
        try require(isUTF8 == (String(validating: stream, as: UTF8.self) != nil), "isUTF8 is \(isUTF8)")

        let roles: [Role?] = [nil, .rider, .customer, .ops, .service]
        let role = roles[Int(input[0]) % roles.count]
        let gateway = EmbeddedGateway()
        for cut in Cut.all(seed: input[1]) { try SessionCheck(gateway, role, cut).run(stream) }
    }

    private static func read(
        _ stream: ArraySlice<UInt8>, _ bounds: WebSocketReader.Bounds, _ cut: Cut
    ) throws(Disagreement) {
        var reader = WebSocketReader(bounds)
        var events: [WebSocketReference.Event] = []
        for piece in cut.pieces(stream) {
            reader.add(ByteBuffer(bytes: piece))
            while let event = reader.next() { events.append(try self.event(event)) }
            // One incomplete message, and one incomplete frame with its header or a control frame.
            try require(
                reader.bufferedBytes <= bounds.messageBytes + 14 + 131,
                "\(reader.bufferedBytes) bytes are buffered for messages of \(bounds.messageBytes)")
        }
        let expected = WebSocketReference(
            messageBytes: bounds.messageBytes, messageFragments: bounds.messageFragments
        ).events(stream)
        try require(events == expected, "cut \(cut): the reader produces \(events), the reference \(expected)")
    }

    private static func event(_ event: WebSocketReader.Event) throws(Disagreement) -> WebSocketReference.Event {
        switch event {
        case .text(let bytes): return .text(Array(bytes.readableBytesView))
        case .binary: throw Disagreement("a binary message where messages are text")
        case .ping(let payload): return .ping(Array(payload.readableBytesView))
        case .pong: return .pong
        case .close(.empty): return .close(1000)
        case .close(.valid(let code)): return .close(code)
        case .close(.malformed): return .close(1002)
        case .refused(let code, _): return .refused(code.rawValue)
        }
    }
}
