// Messages on their way to the gateway: those that wait for the rate limit, and those that the socket has not sent yet. All
// times are in ms.

struct MessageQueue {
    /// What to do with the queue now.
    enum Step: Equatable {
        case send(String)
        case wait(Double)
        case nothing
    }

    /// How many characters may be on their way to the socket before the connection counts as congested.
    static let congestedFrom = 16_384

    private var waiting: [String] = []
    /// The number of characters that the socket has received and not sent.
    private var unsent = 0
    private var budget = MessageBudget(now: 0)

    var isCongested: Bool { !self.waiting.isEmpty || self.unsent > Self.congestedFrom }

    /// Appends a message. Returns whether it was accepted.
    ///
    /// - Parameter endsSubscription: accepted even if the queue is full, because a subscription that does not end makes the next
    ///   one fail. There are at most as many as subscriptions that were sent.
    mutating func append(_ text: String, endsSubscription: Bool) -> Bool {
        guard endsSubscription || self.waiting.count < MessageBudget.mostWaiting else { return false }
        self.waiting.append(text)
        return true
    }

    /// Removes a message that still waits. Returns whether it was there.
    mutating func withdraw(_ text: String) -> Bool {
        guard let place = self.waiting.lastIndex(of: text) else { return false }
        self.waiting.remove(at: place)
        return true
    }

    /// Returns the next message if it may be sent now, or how long it has to wait.
    mutating func next(at now: Double) -> Step {
        guard !self.waiting.isEmpty else { return .nothing }
        let wait = self.budget.take(at: now)
        return wait == 0 ? .send(self.waiting.removeFirst()) : .wait(wait)
    }

    /// The socket has received this message.
    mutating func transmitted(_ text: String) { self.unsent += text.utf8.count }

    /// The socket has sent this many characters.
    mutating func sent(characters: Int) { self.unsent = max(0, self.unsent - characters) }

    /// Applies the limits of a new session.
    mutating func opened(_ limits: WireLimits?, at now: Double) { self.budget = MessageBudget(limits, now: now) }

    /// Drops everything, because the socket is detached.
    mutating func clear() { (self.waiting, self.unsent) = ([], 0) }
}
