// The follow table against plain sets: the first follower of a topic subscribes it, the last one unsubscribes it, nobody in
// between does either, and an iteration visits the followers present at its start, each exactly once.

import Fanout

/// Two bytes per step: the operation, and the follower and topic.
enum FollowTableCheck {
    private static let topics = 4
    private static let phones = 6

    private final class Phone {}

    static func run(_ input: [UInt8]) throws(Disagreement) {
        var choices = Choices(input)
        var table = FollowTable<Int, Phone>()
        let phones = (0..<self.phones).map { _ in Phone() }
        var model: [Int: Set<Int>] = [:]
        while !choices.isOver {
            let (action, value) = (choices.below(8), choices.byte())
            let (topic, phone) = (Int(value & 3) % self.topics, Int(value >> 2) % self.phones)
            switch action {
            case 0..<4 where model[topic]?.contains(phone) != true:
                let upstream = table.follow(topic, by: phones[phone])
                let isFirst = model[topic] == nil
                model[topic, default: []].insert(phone)
                try require(
                    upstream == (isFirst ? .subscribe : .nothing), "follower \(phone) of \(topic): \(upstream)")
            case 0..<4, 4, 5, 6:
                try self.leave(&table, &model, topic, phone, phones)
            default:
                try self.walk(&table, &model, topic, everyOther: phone % 2 == 0, phones)
            }
            try self.compare(table, model, phones)
        }
    }

    private static func leave(
        _ table: inout FollowTable<Int, Phone>, _ model: inout [Int: Set<Int>], _ topic: Int, _ phone: Int,
        _ phones: [Phone]
    ) throws(Disagreement) {
        let follows = model[topic]?.remove(phone) != nil
        let isLast = follows && model[topic]?.isEmpty == true
        if isLast { model[topic] = nil }
        let upstream = table.unfollow(topic, by: phones[phone])
        try require(upstream == (isLast ? .unsubscribe : .nothing), "\(phone) leaves \(topic): \(upstream)")
    }

    /// Followers leave during an iteration, and one joins.
    private static func walk(
        _ table: inout FollowTable<Int, Phone>, _ model: inout [Int: Set<Int>], _ topic: Int, everyOther: Bool,
        _ phones: [Phone]
    ) throws(Disagreement) {
        let before = model[topic] ?? []
        var seen: Set<Int> = []
        for follower in table.followers(of: topic) {
            guard let phone = phones.firstIndex(where: { $0 === follower }) else {
                throw Disagreement("an unexpected follower of \(topic)")
            }
            try require(seen.insert(phone).inserted, "\(phone) was visited twice in one iteration")
            if !everyOther || seen.count % 2 == 0 { try self.leave(&table, &model, topic, phone, phones) }
            if seen.count == 1, let newcomer = (0..<self.phones).first(where: { !before.contains($0) }) {
                let isFirst = model[topic] == nil
                model[topic, default: []].insert(newcomer)
                let upstream = table.follow(topic, by: phones[newcomer])
                try require(
                    upstream == (isFirst ? .subscribe : .nothing), "\(newcomer) during the iteration: \(upstream)")
            }
        }
        try require(seen == before, "an iteration visited \(seen) of \(before)")
    }

    private static func compare(
        _ table: FollowTable<Int, Phone>, _ model: [Int: Set<Int>], _ phones: [Phone]
    ) throws(Disagreement) {
        try require(Set(table.topics) == Set(model.keys), "\(table.topics) are followed, not \(model.keys)")
        for topic in 0..<self.topics {
            let followers = table.followers(of: topic).map { ObjectIdentifier($0) }
            let expected = (model[topic] ?? []).map { ObjectIdentifier(phones[$0]) }
            try require(
                followers.count == expected.count && Set(followers) == Set(expected),
                "\(followers.count) follow \(topic), not \(expected.count)")
        }
    }
}
