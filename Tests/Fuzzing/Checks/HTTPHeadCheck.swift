// The first bytes of a connection, cut anywhere, through the pipeline that every accepted connection gets: they are
// answered with a refusal, become a session, are passed on to the router, or end the connection; one of these and never
// two, the one that the reference names, and wherever the bytes were cut.

import EnrouteWire
import Foundation
import NIOCore
import NIOEmbedded

@testable import Gateway
@testable import Realtime

/// First byte: where to cut. The rest: the client's bytes.
enum HTTPHeadCheck {
    typealias Outcome = HTTPHeadReference.Outcome

    static func run(_ input: [UInt8]) throws(Disagreement) {
        guard let seed = input.first else { return }
        let stream = input.dropFirst()
        let gateway = EmbeddedGateway()
        let expected = HTTPHeadReference(stream, gateway.settings).outcome
        for cut in Cut.all(seed: seed) {
            let outcome = try self.outcome(stream, gateway, cut)
            try require(outcome == expected, "cut \(cut): \(outcome), but it ought to be \(expected)")
        }
    }

    private static func outcome(
        _ stream: ArraySlice<UInt8>, _ gateway: EmbeddedGateway, _ cut: Cut
    ) throws(Disagreement) -> Outcome {
        let arrived = NIOLoopBoundBox<[HTTPConnection]>([], eventLoop: gateway.eventLoop)
        guard let channel = try? gateway.accept({ arrived.value.append($0) }) else {
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
        try require(gateway.state.census.sessions == 0, "a session was left behind")
        try require(arrived.value.count <= 1, "a connection is served once")
        let isToHEAD = stream.drop { $0 == 13 || $0 == 10 }.starts(with: Array("HEAD ".utf8))
        return try self.outcome(isForRouter: !arrived.value.isEmpty, sent, isOpen, isToHEAD: isToHEAD)
    }

    private static func outcome(
        isForRouter: Bool, _ sent: [UInt8], _ isOpen: Bool, isToHEAD: Bool
    ) throws(Disagreement) -> Outcome {
        let status = try self.status(of: sent, isToHEAD: isToHEAD)
        switch (isForRouter, status) {
        case (true, nil): return .passedOn
        case (false, 101?): return .session
        case (false, let status?):
            try require([400, 401, 426, 431, 501].contains(status), "an answer of \(status) and no session")
            try require(!isOpen, "an answer of \(status), and the connection stays open")
            return .refused(status)
        case (false, nil): return isOpen ? .waits : .closed
        case (true, let status?): throw Disagreement("the router, and an answer of \(status) too")
        }
    }

    /// The status of the only response; a problem document is its whole body, and frames follow a 101.
    private static func status(of sent: [UInt8], isToHEAD: Bool) throws(Disagreement) -> UInt? {
        guard !sent.isEmpty else { return nil }
        let ending = Array("\r\n\r\n".utf8)
        guard let end = sent.indices.first(where: { sent[$0...].starts(with: ending) }) else {
            throw Disagreement("half an answer: \(MessagesCheck.text(sent))")
        }
        let lines = MessagesCheck.text(Array(sent[..<end])).split(separator: "\r\n")
        let body = Array(sent[(end + ending.count)...])
        guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ UInt($0) }) else {
            throw Disagreement("an answer without a status: \(lines)")
        }
        if status == 101 {
            try require(lines.contains { $0.lowercased() == "upgrade: websocket" }, "an upgrade to what? \(lines)")
            _ = try WebSocketReference.framesOfServer(body)
        } else if isToHEAD, body.isEmpty {
            try require(lines.contains { $0.hasPrefix("content-length: ") }, "\(lines)")
        } else {
            try require(lines.contains("content-length: \(body.count)"), "\(lines) for \(body.count) bytes")
            try require(
                (try? JSONSerialization.jsonObject(with: Data(body))) is [String: Any],
                "no problem document: \(MessagesCheck.text(body))")
        }
        return status
    }
}
