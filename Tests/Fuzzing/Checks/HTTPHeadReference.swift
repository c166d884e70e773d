// The expected result for a connection's first request, from its head alone, according to the protocol and RFC 6455 section
// 4.2.1.
//
// The head is decoded by NIO's decoder with the gateway's limits, in one piece and without other handlers; the decisions are
// reimplemented here, independently of Admission.

import EnrouteWire
import Foundation
import NIOCore
import NIOEmbedded
import NIOHTTP1

@testable import Gateway
@testable import HTTPValues
@testable import Realtime
@testable import REST

struct HTTPHeadReference {
    enum Outcome: Hashable {
        /// The request is incomplete.
        case waits
        case closed
        case refused(UInt)
        case passedOn
        case session
    }

    let outcome: Outcome
    /// Whether the head has an expectation that 100 (Continue) may answer before the outcome.
    let mayContinue: Bool

    init(_ stream: ArraySlice<UInt8>, _ settings: GatewaySettings) {
        let parts = Self.parts(stream)
        let broken = parts.error.map { Outcome.refused($0 == .headerOverflow ? 431 : 400) }
        guard let head = parts.head else {
            (self.outcome, self.mayContinue) = (broken ?? .waits, false)
            return
        }
        let outcome = Self.refusal(head) ?? Self.refusedExpectation(head) ?? Self.outcome(head, settings)
        self.mayContinue = outcome == .passedOn && Self.hasBody(head) && !Self.expectations(head).isEmpty
        // A request is processed when it is complete, or when it is known to be too long.
        let isTooLong = Int(head.headers["content-length"].first ?? "").map { $0 > Routes.maxBodyBytes } == true
        guard outcome == .session || outcome == .passedOn && !isTooLong, !parts.isWhole else {
            self.outcome = outcome
            return
        }
        self.outcome = broken ?? .waits
    }

    // MARK: Decoding

    private static func parts(
        _ stream: ArraySlice<UInt8>
    ) -> (head: HTTPRequestHead?, isWhole: Bool, error: HTTPParserError?) {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderListSize = Connections.maxHeaderBytes
        limits.maxHeaderFieldSize = Connections.maxHeaderBytes
        limits.maxHeaderFieldCount = Connections.maxHeaders
        let channel = EmbeddedChannel(
            handler: ByteToMessageHandler(
                HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes, limitConfiguration: limits)))
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        var broken: HTTPParserError?
        do { _ = try channel.writeInbound(ByteBuffer(bytes: stream)) } catch { broken = error as? HTTPParserError }
        var (head, isWhole) = (HTTPRequestHead?.none, false)
        while let part = try? channel.readInbound(as: HTTPServerRequestPart.self) {
            switch part {
            case .head(let next) where head == nil: head = next
            case .end: isWhole = true
            default: break
            }
        }
        return (head, isWhole, broken)
    }

    // MARK: Decisions

    /// The requirements of HTTP itself (RFC 9112 sections 3.2 and 6).
    private static func refusal(_ head: HTTPRequestHead) -> Outcome? {
        let (hosts, lengths) = (head.headers["host"].count, head.headers["content-length"])
        let isOld = head.version == .http1_0
        if hosts > 1 || hosts == 0 && !isOld { return .refused(400) }
        if head.method == .CONNECT { return .refused(501) }
        let codings = head.headers["transfer-encoding"].flatMap { $0.split(separator: ",") }.map {
            String($0.trimming { $0 == " " || $0 == "\t" }).lowercased()
        }
        guard codings.isEmpty else {
            if !lengths.isEmpty || isOld { return .refused(400) }
            if codings.contains(where: { $0 != "chunked" }) { return .refused(501) }
            return codings.count == 1 ? nil : .refused(400)
        }
        return lengths.isEmpty || lengths.count == 1 && Int(lengths[0]) != nil ? nil : .refused(400)
    }

    /// RFC 9110 section 10.1.1: the only expectation is 100-continue, and HTTP/1.0 has none.
    private static func refusedExpectation(_ head: HTTPRequestHead) -> Outcome? {
        Self.expectations(head).allSatisfy { $0 == "100-continue" } ? nil : .refused(417)
    }

    private static func expectations(_ head: HTTPRequestHead) -> [String] {
        guard head.version != .http1_0 else { return [] }
        return head.headers["expect"].flatMap { $0.split(separator: ",") }.map {
            $0.trimming { $0 == " " || $0 == "\t" }.lowercased()
        }
    }

    private static func hasBody(_ head: HTTPRequestHead) -> Bool {
        !head.headers["transfer-encoding"].isEmpty || head.headers["content-length"].contains { Int($0) != 0 }
    }

    private static func outcome(_ head: HTTPRequestHead, _ settings: GatewaySettings) -> Outcome {
        func has(_ name: String, _ value: String, exactly: Bool = false) -> Bool {
            head.headers[name].contains { line in
                line.split(separator: ",").contains { item in
                    let item = item.trimming { $0 == " " || $0 == "\t" }
                    return exactly ? item == value : item.lowercased() == value
                }
            }
        }
        if let query = head.uri.utf8.firstIndex(of: UInt8(ascii: "?")) {
            let names = head.uri[query...].dropFirst().split(separator: "&").map {
                let name = String($0.prefix { $0 != "=" })
                return (name.removingPercentEncoding ?? name).lowercased()
            }
            if !Set(names).isDisjoint(with: ["token", "access_token", "jwt", "bearer"]) { return .refused(400) }
        }
        guard ["/v1", "/v1/_echo"].contains(head.uri) else { return .passedOn }
        guard has("upgrade", "websocket") else { return head.method == .GET ? .refused(426) : .passedOn }
        guard head.method == .GET, head.version == .http1_1, !Self.hasBody(head), has("connection", "upgrade") else {
            return .refused(400)
        }
        guard head.headers["sec-websocket-version"] == ["13"] else { return .refused(426) }
        let keys = head.headers["sec-websocket-key"]
        guard keys.count == 1, keys[0].wholeMatch(of: /[A-Za-z0-9+\/]{22}==/) != nil else { return .refused(400) }
        guard head.uri == "/v1" else { return .session }
        guard has("sec-websocket-protocol", Limits.subprotocol, exactly: true) else { return .refused(400) }
        guard let header = head.headers["authorization"].first else { return .session }
        let token = header.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard token.count == 2, token[0].lowercased() == "bearer", !token[1].isEmpty,
            (try? settings.tokens.verify(String(token[1]), now: WallClock.nowMilliseconds / 1000)) != nil
        else { return .refused(401) }
        return .session
    }
}

extension Substring {
    fileprivate func trimming(_ isSpace: (Character) -> Bool) -> Substring {
        var rest = self
        while let first = rest.first, isSpace(first) { rest.removeFirst() }
        while let last = rest.last, isSpace(last) { rest.removeLast() }
        return rest
    }
}
