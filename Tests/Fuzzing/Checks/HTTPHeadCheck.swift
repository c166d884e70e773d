// The first bytes of a connection, split anywhere, through the pipeline of every accepted connection. They are refused, become
// a session, are passed to the router, or end the connection: exactly one of these, as the reference predicts, and independent
// of how the bytes were split.

import EnrouteWire
import Foundation
import NIOCore
import NIOEmbedded

@testable import Gateway
@testable import Realtime

/// First byte: how to split. The rest: the client's bytes.
enum HTTPHeadCheck {
    typealias Outcome = HTTPHeadReference.Outcome

    static func run(_ input: [UInt8]) throws(Disagreement) {
        guard let seed = input.first else { return }
        let stream = input.dropFirst()
        let gateway = EmbeddedGateway()
        let expected = HTTPHeadReference(stream, gateway.settings)
        for cut in Cut.all(seed: seed) {
            let outcome = try self.outcome(stream, gateway, cut, mayContinue: expected.mayContinue)
            try require(outcome == expected.outcome, "cut \(cut): \(outcome), expected \(expected.outcome)")
        }
    }

    private static func outcome(
        _ stream: ArraySlice<UInt8>, _ gateway: EmbeddedGateway, _ cut: Cut, mayContinue: Bool
    ) throws(Disagreement) -> Outcome {
        let arrived = NIOLoopBoundBox<[HTTPConnection]>([], eventLoop: gateway.eventLoop)
        guard let channel = try? gateway.accept(onFirstRequest: { arrived.value.append($0) }) else {
            throw Disagreement("a connection was not accepted")
        }
        var sent: [UInt8] = []
        for piece in cut.pieces(stream) where channel.isActive {
            channel.receive(piece)
            sent += channel.sent()
        }
        let isOpen = channel.isActive
        _ = try? channel.finish(acceptAlreadyClosed: true)
        gateway.eventLoop.run()
        try require(gateway.state.census.sessions == 0, "a session leaked")
        try require(arrived.value.count <= 1, "a connection is served once")
        if mayContinue, sent.starts(with: self.interim) { sent.removeFirst(self.interim.count) }
        let isToHEAD = stream.drop { $0 == 13 || $0 == 10 }.starts(with: Array("HEAD ".utf8))
        return try self.outcome(isForRouter: !arrived.value.isEmpty, sent, isOpen, isToHEAD: isToHEAD)
    }

    /// The response that lets a client send its body, before the only other response.
    private static let interim = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    private static func outcome(
        isForRouter: Bool, _ sent: [UInt8], _ isOpen: Bool, isToHEAD: Bool
    ) throws(Disagreement) -> Outcome {
        let status = try self.status(of: sent, isToHEAD: isToHEAD)
        switch (isForRouter, status) {
        case (true, nil): return .passedOn
        case (false, 101?): return .session
        case (false, let status?):
            try require([400, 401, 417, 426, 431, 501].contains(status), "a response \(status) without a session")
            try require(!isOpen, "a response \(status), but the connection stays open")
            return .refused(status)
        case (false, nil): return isOpen ? .waits : .closed
        case (true, let status?): throw Disagreement("passed to the router, but also answered with \(status)")
        }
    }

    /// The status of the only response; its body must be a problem document, and frames follow a 101.
    private static func status(of sent: [UInt8], isToHEAD: Bool) throws(Disagreement) -> UInt? {
        guard !sent.isEmpty else { return nil }
        let ending = Array("\r\n\r\n".utf8)
        guard let end = sent.indices.first(where: { sent[$0...].starts(with: ending) }) else {
            throw Disagreement("an incomplete response: \(MessagesCheck.text(sent))")
        }
        let lines = MessagesCheck.text(Array(sent[..<end])).split(separator: "\r\n")
        let body = Array(sent[(end + ending.count)...])
        guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ UInt($0) }) else {
            throw Disagreement("a response without a status: \(lines)")
        }
        if status == 101 {
            try require(
                lines.contains { $0.lowercased() == "upgrade: websocket" }, "an upgrade without a protocol: \(lines)")
            _ = try WebSocketReference.framesOfServer(body)
        } else if isToHEAD, body.isEmpty {
            try require(lines.contains { $0.hasPrefix("content-length: ") }, "\(lines)")
        } else {
            try require(lines.contains("content-length: \(body.count)"), "\(lines) for \(body.count) bytes")
            try require(
                (try? JSONSerialization.jsonObject(with: Data(body))) is [String: Any],
                "not a problem document: \(MessagesCheck.text(body))")
        }
        return status
    }
}
