// The number of requests that a provider may get per day, because each request costs money. Days are UTC days, as on
// invoices.

package struct DailyBudget: Hashable, Sendable {
    static let dayMilliseconds: Int64 = 86_400_000

    /// The maximum number of requests per day; `nil` for no limit.
    package let questions: Int?
    private var day: Int64 = 0
    private var asked = 0

    package init(questions: Int?) { self.questions = questions }

    /// Days since the epoch, which name the count that gateways share.
    package static func day(of wall: Int64) -> Int64 {
        wall >= 0 ? wall / self.dayMilliseconds : (wall - self.dayMilliseconds + 1) / self.dayMilliseconds
    }

    /// The number of requests left today; `nil` without a limit.
    ///
    /// - Parameter wall: ms since the epoch.
    package func left(wall: Int64) -> Int? {
        self.questions.map { max(0, $0 - (Self.day(of: wall) == self.day ? self.asked : 0)) }
    }

    /// Records that other gateways have used the rest of today's budget.
    package mutating func exhaust(wall: Int64) {
        guard let questions = self.questions else { return }
        let today = Self.day(of: wall)
        if today >= self.day { (self.day, self.asked) = (today, questions) }
    }

    /// Uses one request of today's budget.
    ///
    /// - Returns: whether there was one. Setting the clock back does not refill the budget.
    package mutating func take(wall: Int64) -> Bool {
        let today = Self.day(of: wall)
        if today > self.day { (self.day, self.asked) = (today, 0) }
        guard let questions = self.questions else { return true }
        guard self.asked < questions else { return false }
        self.asked += 1
        return true
    }
}
