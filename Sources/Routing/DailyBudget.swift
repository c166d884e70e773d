// How often a provider may be asked in a day, because each question costs. Days are those of UTC, as bills are.

package struct DailyBudget: Hashable, Sendable {
    static let dayMilliseconds: Int64 = 86_400_000

    /// `nil`: as often as one likes.
    package let questions: Int?
    private var day: Int64 = 0
    private var asked = 0

    package init(questions: Int?) { self.questions = questions }

    /// Days since the epoch: what a count that gateways share is named by.
    package static func day(of wall: Int64) -> Int64 {
        wall >= 0 ? wall / self.dayMilliseconds : (wall - self.dayMilliseconds + 1) / self.dayMilliseconds
    }

    /// What is left of the day; `nil` without a bound.
    ///
    /// - Parameter wall: ms since the epoch.
    package func left(wall: Int64) -> Int? {
        self.questions.map { max(0, $0 - (Self.day(of: wall) == self.day ? self.asked : 0)) }
    }

    /// Others have used up what was left of the day.
    package mutating func exhaust(wall: Int64) {
        guard let questions = self.questions else { return }
        let today = Self.day(of: wall)
        if today >= self.day { (self.day, self.asked) = (today, questions) }
    }

    /// - Returns: whether there was one left, which is taken. A clock that went back a day gives nothing back.
    package mutating func take(wall: Int64) -> Bool {
        let today = Self.day(of: wall)
        if today > self.day { (self.day, self.asked) = (today, 0) }
        guard let questions = self.questions else { return true }
        guard self.asked < questions else { return false }
        self.asked += 1
        return true
    }
}
