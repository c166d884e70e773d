// Server-sent events, for networks that block WebSockets. An event stream is the same session with the same messages
// and guarantees; only the encoding differs. A frame becomes an event (html.spec.whatwg.org, section 9.2), and an event
// becomes one chunk of the HTTP response (RFC 9112 section 7.1). Like frames, chunks bypass the HTTP encoder.

internal import EnrouteWire
internal import HTTPValues
internal import NIOCore

/// Converts messages to events.
package enum EventStream {
    package static let mediaType = "text/event-stream"

    /// How long a client waits before it reconnects a broken stream, ms. Chosen at random for each client.
    package static let retryMilliseconds: ClosedRange<Int64> = 1_000...4_000

    /// - Parameters:
    ///   - frame: a complete WebSocket frame as sent by a server.
    ///   - isChunked: `false` for HTTP/1.0, where the response ends with the connection.
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
        // A comment. It prevents proxies from closing an idle connection.
        default: event += ":\n\n".utf8
        }
        guard isChunked else { return event }
        let isLast = frame[0] == 0x88
        return Self.chunked(event) + (isLast ? Array("0\r\n\r\n".utf8) : [])
    }

    /// The approximate number of bytes around a message.
    private static let estimatedOverhead = 200

    /// An event's id is the point to resume from. Messages that do not change this point have no id.
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
        /// The gateway is shutting down: reconnect after this time, ms.
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

/// Why the gateway ended a stream: a close code of the protocol and its reason.
private struct CloseEvent: Encodable {
    var code: UInt16
    var reason: String

    /// Encoding a number and a string cannot fail.
    var json: [UInt8] { (try? JSONDocument.bytes(self)) ?? Array(#"{"code":\#(self.code),"reason":""}"#.utf8) }
}

extension ResumePoint {
    /// - Parameter id: the id of the last event received, `<epoch>.<status event>`; `nil` if it is malformed.
    package init?(lastEventID id: String) {
        let parts = id.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let epoch = Identifier<Void>(String(parts[0])), let status = StatusID(parts[1]) else {
            return nil
        }
        self.init(epoch: epoch.text, id: status)
    }
}
