// One session, from its welcome to its end: its responses to a stream of bytes, against the expected ones.
//
// An embedded socket accepts bytes only when the loop runs, so all but the first response to one chunk wait; a close frame
// discards waiting ones, as on a slow socket. So some responses before a close may be missing, unless the bytes arrived one at
// a time; those present must be right and in order.

import Access
import EnrouteWire
import NIOCore
import NIOEmbedded

@testable import Gateway
@testable import HTTPValues
@testable import Realtime

struct SessionCheck {
    fileprivate enum Answer: Hashable {
        case welcome
        case pong([UInt8])
        case serverPong
        case ok(String)
        case error(String, ErrorCode)
        case close(UInt16)
    }

    private let gateway: EmbeddedGateway
    private let role: Role?
    private let cut: Cut

    init(_ gateway: EmbeddedGateway, _ role: Role?, _ cut: Cut) {
        self.gateway = gateway
        self.role = role
        self.cut = cut
    }

    func run(_ stream: ArraySlice<UInt8>) throws(Disagreement) {
        guard let channel = try? self.gateway.session(self.role) else { throw Disagreement("there is no session") }
        var sent = channel.sent()
        for piece in self.cut.pieces(stream) where channel.isActive {
            channel.receive(piece)
            sent += channel.sent()
        }
        let expected = self.answers(to: stream)
        let answers = try self.answers(in: sent)
        if self.cut == .everywhere || expected.last?.isClose != true {
            try require(answers == expected, "cut \(self.cut): responded \(answers) instead of \(expected)")
        } else {
            try require(
                answers.last == expected.last && expected.starts(with: answers.dropLast()),
                "cut \(self.cut): responded \(answers) instead of \(expected)")
        }
        if self.closesAtOnce(stream) {
            try require(!channel.isActive, "a close frame was answered, but the socket stays open")
        }
        _ = try? channel.finish(acceptAlreadyClosed: true)
        self.gateway.eventLoop.run()
        let state = self.gateway.state
        let jobs = state.load.followedJobs.count
        let census = state.census
        try require(census.sessions == 0 && jobs == 0 && census.outboxBytes == 0, "\(census.sessions) sessions leaked")
    }

    private func reference(_ stream: ArraySlice<UInt8>) -> [WebSocketReference.Event] {
        WebSocketReference(
            messageBytes: EmbeddedGateway.messageBytes, messageFragments: EmbeddedGateway.messageFragments
        ).events(stream)
    }

    /// Whether the client closes.
    private func closesAtOnce(_ stream: ArraySlice<UInt8>) -> Bool {
        if case .close? = self.reference(stream).last { true } else { false }
    }

    // MARK: Expected responses

    private func answers(to stream: ArraySlice<UInt8>) -> [Answer] {
        var signedIn = self.role
        var answers: [Answer] = signedIn == nil ? [] : [.welcome]
        var malformedMessages = 0
        for event in self.reference(stream) {
            switch event {
            case .ping(let payload): answers.append(.pong(payload))
            case .pong: break
            case .close(let code), .refused(let code): answers.append(.close(code))
            case .text(let bytes):
                let limits = self.gateway.state.settings.limits
                if String(validating: bytes, as: UTF8.self) == nil {
                    answers.append(.close(CloseCode.invalidText.rawValue))
                } else if case .success(let message) = MessagesCheck.client(bytes) {
                    if let role = signedIn {
                        if case .subscribeAll(let jobs) = message {
                            answers += jobs.map { _ in .error("subscribe", .unavailable) }
                        } else if let answer = self.answer(to: message, of: role) {
                            answers.append(answer)
                        }
                    } else {
                        (signedIn, answers) = (self.role(signingInWith: message, &answers), answers)
                    }
                } else if malformedMessages == limits.malformedMessages {
                    answers.append(.close(CloseCode.tooManyBadRequests.rawValue))
                } else {
                    malformedMessages += 1
                    answers.append(.error(bytes.withUnsafeBytes { MessageOutline($0) }.type, .badRequest))
                }
            }
            if answers.last?.isClose == true { break }
        }
        return answers
    }

    private func role(signingInWith message: ClientMessage, _ answers: inout [Answer]) -> Role? {
        switch message {
        case .auth(.token(let token)):
            guard
                let grant = try? self.gateway.state.settings.tokens.verify(token, now: WallClock.nowMilliseconds / 1000)
            else {
                answers.append(.close(self.refusal(of: token)))
                return nil
            }
            answers.append(.welcome)
            return grant.role
        // A link is looked up, and Redis is not available.
        case .auth(.link): answers.append(.close(CloseCode.insufficientState.rawValue))
        default: answers.append(.close(CloseCode.invalidToken.rawValue))
        }
        return nil
    }

    private func refusal(of token: String) -> UInt16 {
        do throws(TokenRefusal) {
            _ = try self.gateway.state.settings.tokens.verify(token, now: WallClock.nowMilliseconds / 1000)
        } catch {
            return error == .expired ? CloseCode.tokenExpired.rawValue : CloseCode.invalidToken.rawValue
        }
        return 0
    }

    /// - Returns: `nil` for what is buffered until Redis is available.
    private func answer(to message: ClientMessage, of role: Role) -> Answer? {
        switch message {
        case .auth: .error("auth", .badRequest)
        case .ping: .serverPong
        case .unsubscribe: .ok("unsubscribe")
        case .subscribe, .subscribeAll: .error("subscribe", .unavailable)
        case .location: role == .rider ? nil : .error("location", .forbidden)
        case .refresh(let token): self.answer(toRefresh: token, of: role)
        case .watch, .watchJobs, .watchPlaces:
            .error("watch", role == .ops || role == .service ? .unavailable : .forbidden)
        case .unwatch, .unwatchJobs, .unwatchPlaces: .ok("unwatch")
        case .availability: .error("availability", role == .rider ? .unavailable : .forbidden)
        case .presence: .error("presence", role == .rider ? .unavailable : .forbidden)
        case .travel: .error("travel", role == .rider ? .unavailable : .forbidden)
        case .unavailable: role == .rider ? .ok("unavailable") : .error("unavailable", .forbidden)
        }
    }

    private func answer(toRefresh token: String, of role: Role) -> Answer {
        switch self.refusal(of: token) {
        case 0:
            let grant = try? self.gateway.state.settings.tokens.verify(token, now: WallClock.nowMilliseconds / 1000)
            return grant?.role == role ? .ok("refresh") : .error("refresh", .forbidden)
        case CloseCode.tokenExpired.rawValue: return .error("refresh", .tokenExpired)
        default: return .error("refresh", .unauthorized)
        }
    }

    // MARK: Actual responses

    private func answers(in sent: [UInt8]) throws(Disagreement) -> [Answer] {
        var answers: [Answer] = []
        for frame in try WebSocketReference.framesOfServer(sent) {
            try require(answers.last?.isClose != true, "the session sends after closing")
            switch frame.opcode {
            case 1: answers.append(try self.answer(frame.payload))
            case 8: answers.append(.close(UInt16(frame.payload[0]) << 8 | UInt16(frame.payload[1])))
            case 10: answers.append(.pong(frame.payload))
            default: throw Disagreement("the session sends opcode \(frame.opcode)")
            }
        }
        return answers
    }

    private func answer(_ payload: [UInt8]) throws(Disagreement) -> Answer {
        switch MessagesCheck.server(payload) {
        case .success(.welcome): return .welcome
        case .success(.pong): return .serverPong
        case .success(.ok(let replyTo, _, _, _, _)): return .ok(replyTo)
        case .success(.error(let refusal)): return .error(refusal.replyTo, refusal.code)
        case let other: throw Disagreement("the session sends \(MessagesCheck.text(payload)): \(other)")
        }
    }
}

extension SessionCheck.Answer {
    fileprivate var isClose: Bool { if case .close = self { true } else { false } }
}
