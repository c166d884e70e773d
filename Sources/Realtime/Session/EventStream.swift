// Server-sent events, for where WebSockets are blocked: the same session, the same messages, the same promises; only what
// goes on the wire differs. A frame becomes an event (html.spec.whatwg.org, section 9.2), and an event one chunk of the
// answer to the request (RFC 9112 section 7.1), written past the HTTP encoder as frames are.

internal import EnrouteWire
internal import HTTPValues
internal import NIOCore

/// How messages become events.
package enum EventStream {
    package static let mediaType = "text/event-stream"

    /// When a client comes back whose stream has broken, ms: each is told a time of its own.
    package static let retryMilliseconds: ClosedRange<Int64> = 1_000...4_000

    /// - Parameters:
    ///   - frame: a whole WebSocket frame as a server sends it.
    ///   - isChunked: `false` for HTTP/1.0, where the answer ends with the connection.
    package static func chunk(of frame: [UInt8], isChunked: Bool = true) -> [UInt8] {
        let header = frame[1] < 126 ? 2 : frame[1] == 126 ? 4 : 10
        let payload = frame[header...]
        var event: [UInt8] = []
        event.reserveCapacity(payload.count + Self.estimatedOverhead)
        switch frame[0] {
        case 0x81: Self.append(payload, to: &event)
        case 0x88:
            event += "event: close\ndata: ".utf8
            let code = UInt16(payload[payload.startIndex]) << 8 | UInt16(payload[payload.startIndex + 1])
            event += CloseEvent(code: code, reason: String(decoding: payload.dropFirst(2), as: UTF8.self)).json
            event += "\n\n".utf8
        // A comment: it keeps what is between us from closing a silent connection.
        default: event += ":\n\n".utf8
        }
        guard isChunked else { return event }
        let isLast = frame[0] == 0x88
        return Self.chunked(event) + (isLast ? Array("0\r\n\r\n".utf8) : [])
    }

    /// Bytes around a message, more or less.
    private static let estimatedOverhead = 200

    /// The id of an event is where to go on from, so what does not move that has none.
    private static func append(_ message: ArraySlice<UInt8>, to event: inout [UInt8]) {
        switch Self.resumeHint(after: message) {
        case .status(let epoch, let id): event += "id: \(epoch).\(id)\n".utf8
        case .retry(let milliseconds): event += "retry: \(milliseconds)\n".utf8
        case .unchanged: break
        }
        event += "data: ".utf8
        event += message
        event += "\n\n".utf8
    }

    private enum ResumeHint {
        case status(epoch: String, StatusID)
        /// The gateway is leaving: come back then, ms.
        case retry(Int64)
        case unchanged
    }

    private static func resumeHint(after message: ArraySlice<UInt8>) -> ResumeHint {
        let decoded = message.withUnsafeBytes { bytes in
            PublishedLocation.id(of: bytes) == nil ? try? ServerMessage(bytes) : nil
        }
        switch decoded {
        case .status(_, let event): return .status(epoch: event.epoch, event.id)
        case .subscribed(_, let snapshot), .reset(_, let snapshot): return .status(epoch: snapshot.epoch, snapshot.id)
        case .goaway(let retryIn): return .retry(retryIn)
        default: return .unchanged
        }
    }

    private static func chunked(_ bytes: [UInt8]) -> [UInt8] {
        Array(String(bytes.count, radix: 16).utf8) + "\r\n".utf8 + bytes + "\r\n".utf8
    }
}

/// Why a stream was ended by us: a close code of the protocol and its reason.
private struct CloseEvent: Encodable {
    var code: UInt16
    var reason: String

    /// A number and a text: JSON can say every one of them.
    var json: [UInt8] { (try? JSONDocument.bytes(self)) ?? Array(#"{"code":\#(self.code),"reason":""}"#.utf8) }
}

extension ResumePoint {
    /// - Parameter id: of the last event that was seen, `<epoch>.<status event>`; `nil` when it is none of ours.
    package init?(lastEventID id: String) {
        let parts = id.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let epoch = Identifier<Void>(String(parts[0])), let status = StatusID(parts[1]) else {
            return nil
        }
        self.init(epoch: epoch.text, id: status)
    }
}
