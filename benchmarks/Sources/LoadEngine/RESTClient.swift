// A few keep-alive HTTP/1.1 connections for the setup: thousands of jobs are created before a run starts.

internal import CLibssl
internal import Glibc

public struct RESTRequest: Sendable {
    public var method: String
    public var path: String
    public var headers: [String]
    public var body: String

    public init(_ method: String, _ path: String, headers: [String] = [], body: String = "") {
        (self.method, self.path, self.headers, self.body) = (method, path, headers, body)
    }

    /// The request as sent.
    func text(host: String) -> String {
        let lines = [
            "\(self.method) \(self.path) HTTP/1.1", "Host: \(host)", "Content-Length: \(self.body.utf8.count)",
        ]
        return (lines + self.headers).joined(separator: "\r\n") + "\r\n\r\n" + self.body
    }
}

public final class RESTClient {
    private let dial: Dial
    private let loop: Loop

    /// Number of connections.
    static let width = 16

    public init(_ dial: Dial, loop: Loop) { (self.dial, self.loop) = (dial, loop) }

    /// Sends the requests in no particular order; each must be answered with one of these statuses.
    public func perform(_ requests: [RESTRequest], accepting statuses: Set<Int>, timeout seconds: Double) throws {
        let queue = Queue(requests, statuses)
        let lanes = try (0..<min(Self.width, requests.count)).map { index in
            try Lane(queue, self.dial, loop: self.loop, source: index)
        }
        defer { for lane in lanes { lane.close() } }
        let isDone = self.loop.run(seconds: seconds) { queue.answered < requests.count && queue.failure == nil }
        if let failure = queue.failure { throw LoadError("REST: \(failure)") }
        guard isDone else {
            throw LoadError(
                "REST: \(queue.answered) of \(requests.count) requests were answered within \(Int(seconds)) s")
        }
    }

    private final class Queue {
        let requests: [RESTRequest]
        let statuses: Set<Int>
        var next = 0
        var answered = 0
        var failure: String?

        init(_ requests: [RESTRequest], _ statuses: Set<Int>) { (self.requests, self.statuses) = (requests, statuses) }
    }

    /// One connection: a request, its response, the next request.
    private final class Lane: TransportOwner {
        private let queue: Queue
        private let host: String
        private var transport: Transport?
        private var answers = HTTPAnswers()

        init(_ queue: Queue, _ dial: Dial, loop: Loop, source: Int) throws {
            (self.queue, self.host) = (queue, dial.endpoint.host)
            let transport = try Transport(dial, source: source, loop: loop)
            transport.owner = self
            self.transport = transport
        }

        func close() { self.transport?.close() }
        func opened() { self.ask() }

        private func ask() {
            guard self.queue.next < self.queue.requests.count else { return }
            let request = self.queue.requests[self.queue.next]
            self.queue.next += 1
            self.transport?.write(Array(request.text(host: self.host).utf8))
        }

        func received(_ bytes: UnsafeMutableRawBufferPointer) {
            for answer in self.answers.take(UnsafeRawBufferPointer(bytes)) {
                self.queue.answered += 1
                if !self.queue.statuses.contains(answer.status) {
                    self.queue.failure = "\(answer.status): \(String(decoding: answer.body.prefix(300), as: UTF8.self))"
                }
                self.ask()
            }
        }

        func closed(_ reason: String) {
            self.transport = nil
            if self.queue.answered < self.queue.requests.count { self.queue.failure = self.queue.failure ?? reason }
        }
    }
}

/// Parses HTTP/1.1 responses from a stream of bytes, with `Content-Length` or chunks.
struct HTTPAnswers {
    private var bytes: [UInt8] = []

    mutating func take(_ more: UnsafeRawBufferPointer) -> [(status: Int, body: [UInt8])] {
        self.bytes.append(contentsOf: more)
        var answers: [(status: Int, body: [UInt8])] = []
        while let end = self.bytes.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound {
            let head = String(decoding: self.bytes[..<end], as: UTF8.self).lowercased()
            let status = head.split(separator: " ", maxSplits: 2).dropFirst().first.flatMap { Int($0) } ?? 0
            let last: Int
            if head.contains("transfer-encoding: chunked") {
                let tail = self.bytes[end...]
                guard let close = tail.firstRange(of: Array("0\r\n\r\n".utf8)) else { break }
                last = close.upperBound
            } else {
                let lengths = head.split(separator: "\r\n").filter { $0.hasPrefix("content-length:") }
                let length = lengths.first?.split(separator: ":").last?.filter { $0 != " " }
                last = end + (length.flatMap { Int($0) } ?? 0)
            }
            guard self.bytes.count >= last else { break }
            answers.append((status, Array(self.bytes[end..<last])))
            self.bytes.removeFirst(last)
        }
        return answers
    }
}
