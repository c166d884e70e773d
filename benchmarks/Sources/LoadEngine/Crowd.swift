// All followers of a run: opened a few at a time, so that they fit the peer's backlog, and counted together.

internal import CLibssl
internal import Glibc

public final class Crowd {
    let loop: Loop
    public let target: Target
    let dial: Dial
    public internal(set) var tally = Tally()
    /// Set when publishing begins.
    public var schedule: Schedule?
    /// Why the first failed follower failed.
    public internal(set) var firstFailure: String?
    /// The last message that arrived instead of the subscription's confirmation.
    var lastWords: [UInt8] = []

    private var followers: [Follower] = []
    private var begun = 0
    /// The number of followers to open.
    private var goal = 0
    private var inTheAir = 0
    public private(set) var following = 0
    private var isClosing = false
    private let marker: [UInt8]
    private let beginning: [UInt8]
    private let subscribedMark: [UInt8]?
    private let refusalMark: [UInt8]?
    private let replies: [(beginning: [UInt8], answer: String)]

    /// Maximum number of connections between `connect` and "subscribed".
    public static let width = 64

    public init(_ target: Target, dial: Dial, identities: [Identity], loop: Loop) {
        (self.target, self.dial, self.loop) = (target, dial, loop)
        self.marker = Array(target.marker.utf8)
        self.beginning = Array(target.beginning.utf8)
        self.subscribedMark = target.subscribed.map { Array($0.utf8) }
        self.refusalMark = target.refusal.map { Array($0.utf8) }
        self.replies = target.replies.map { (Array($0.beginning.utf8), $0.answer) }
        self.followers = identities.map { Follower($0, crowd: self) }
    }

    public var count: Int { self.followers.count }
    var identities: [Identity] { self.followers.map(\.identity) }

    /// Opens followers until this many are subscribed.
    public func open(_ count: Int? = nil, timeout seconds: Double) throws {
        self.goal = count ?? self.count
        try Descriptors.raise(toHold: self.count)
        try self.fill()
        let isDone = self.loop.run(seconds: seconds) { self.following < self.goal && self.firstFailure == nil }
        if let firstFailure {
            throw LoadError("\(self.target.name): after \(self.following) of \(self.count) followers: \(firstFailure)")
        }
        guard isDone else {
            let last =
                self.lastWords.isEmpty ? "" : "; last message: \(String(decoding: self.lastWords, as: UTF8.self))"
            throw LoadError(
                "\(self.target.name): \(self.following) of \(self.goal) followers subscribed within \(Int(seconds)) s\(last)"
            )
        }
    }

    public func close() {
        self.isClosing = true
        for follower in self.followers { follower.close() }
    }

    public func setReading(_ reads: Bool) {
        for follower in self.followers where follower.state == .following { follower.reads = reads }
    }

    func send(_ frame: [UInt8], from index: Int) { self.followers[index].send(frame) }

    private func fill() throws {
        while self.inTheAir < Self.width, self.begun < self.goal {
            self.inTheAir += 1
            self.begun += 1
            try self.followers[self.begun - 1].connect(self.dial)
        }
    }

    // MARK: Reports of followers

    func entered(_ follower: Follower) {
        self.following += 1
        self.inTheAir -= 1
        do { try self.fill() } catch { self.firstFailure = "\(error)" }
    }

    /// - Parameter reason: `nil` if a close frame gave the reason.
    func left(_ follower: Follower, _ state: Follower.State, _ reason: String?) {
        guard !self.isClosing else { return }
        if state == .following {
            self.following -= 1
            if let reason { self.tally.losses[reason, default: 0] += 1 }
        } else {
            self.inTheAir -= 1
            self.firstFailure = self.firstFailure ?? reason ?? "closed with \(self.tally.closeCodes.keys.sorted())"
        }
    }

    // MARK: Messages

    func mayBePublished(_ payload: UnsafeRawBufferPointer) -> Bool { payload.starts(with: self.beginning) }

    /// The number of the first published message, and the offset of its end. A frame may contain several.
    @inline(__always)
    func number(in payload: UnsafeRawBufferPointer) -> (number: UInt64, end: Int)? {
        let found = self.marker.withUnsafeBytes {
            memmem(payload.baseAddress!, payload.count, $0.baseAddress!, $0.count)
        }
        guard let found else { return nil }
        var place = UnsafeRawPointer(found) - payload.baseAddress! + self.marker.count
        var number: UInt64 = 0
        let first = place
        while place < payload.count, place - first < 18, case let digit = payload[place] &- 48, digit < 10 {
            number = number &* 10 &+ UInt64(digit)
            place += 1
        }
        return place > first ? (number, place) : nil
    }

    func saysSubscribed(_ payload: UnsafeRawBufferPointer) -> Bool {
        self.subscribedMark.map { payload.holds($0) } ?? false
    }

    func saysRefused(_ payload: UnsafeRawBufferPointer) -> Bool {
        self.refusalMark.map { payload.holds($0) } ?? false
    }

    func answer(to payload: UnsafeRawBufferPointer) -> String? {
        self.replies.first { payload.starts(with: $0.beginning) }?.answer
    }
}

extension UnsafeRawBufferPointer {
    func holds(_ mark: [UInt8]) -> Bool {
        guard !self.isEmpty else { return false }
        return mark.withUnsafeBytes { memmem(self.baseAddress!, self.count, $0.baseAddress!, $0.count) != nil }
    }
}

/// The limit of open files of this process.
public enum Descriptors {
    /// Raises the limit as far as permitted, and fails if that is not enough.
    public static func raise(toHold connections: Int) throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard connections + 100 < Int(clamping: limit.rlim_cur) else {
            throw LoadError(
                "\(connections) connections need more open files than the limit of \(limit.rlim_cur) (ulimit -Hn)")
        }
    }
}
