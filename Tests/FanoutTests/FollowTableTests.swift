import TestSupport
import Testing

@testable import Fanout

@Suite struct FollowTableTests {
    private final class Phone {}

    @Test func `the first follower subscribes, the last one unsubscribes, the others do neither`() {
        var table = FollowTable<String, Phone>()
        let (a, b) = (Phone(), Phone())
        #expect(table.follow("job", by: a) == .subscribe)
        #expect(table.follow("job", by: b) == .nothing)
        #expect(table.unfollow("job", by: a) == .nothing)
        #expect(table.unfollow("job", by: b) == .unsubscribe)
        #expect(table.topics.isEmpty)
    }

    @Test func `unfollowing a topic that is not followed does nothing`() {
        var table = FollowTable<String, Phone>()
        let (a, b) = (Phone(), Phone())
        _ = table.follow("job", by: a)
        #expect(table.unfollow("job", by: b) == .nothing)
        #expect(table.unfollow("other", by: a) == .nothing)
        #expect(table.followers(of: "job").count == 1)
    }

    @Test func `a follower can leave while the followers are iterated`() {
        var table = FollowTable<String, Phone>()
        let phones = (0..<5).map { _ in Phone() }
        for phone in phones { _ = table.follow("job", by: phone) }
        var walked = 0
        for phone in table.followers(of: "job") {
            _ = table.unfollow("job", by: phone)
            walked += 1
        }
        #expect(walked == 5)
        #expect(table.followers(of: "job").isEmpty)
    }

    @Test(arguments: 0..<20, [8, 60])
    func `after any sequence of follows and unfollows the table equals a set of pairs`(seed: UInt64, most: Int) {
        var random = SeededGenerator(seed: seed)
        var table = FollowTable<Int, Phone>()
        let phones = (0..<most).map { _ in Phone() }
        var model: [Int: Set<ObjectIdentifier>] = [:]
        for _ in 0..<2000 {
            let topic = Int.random(in: 0..<4, using: &random)
            let phone = phones.randomElement(using: &random)!
            let id = ObjectIdentifier(phone)
            if model[topic, default: []].contains(id) {
                model[topic]?.remove(id)
                let isLast = model[topic]?.isEmpty == true
                #expect(table.unfollow(topic, by: phone) == (isLast ? .unsubscribe : .nothing))
            } else {
                let isFirst = model[topic, default: []].isEmpty
                model[topic, default: []].insert(id)
                #expect(table.follow(topic, by: phone) == (isFirst ? .subscribe : .nothing))
            }
            let followers = table.followers(of: topic).map { ObjectIdentifier($0) }
            #expect(Set(followers) == model[topic, default: []])
            #expect(followers.count == model[topic, default: []].count)
        }
    }

    @Test func `the indexes of a topic are as many as its followers, and none are left with few followers`() {
        var table = FollowTable<String, Phone>()
        let phones = (0..<100).map { _ in Phone() }
        for phone in phones { _ = table.follow("job", by: phone) }
        for left in (0..<100).reversed() {
            _ = table.unfollow("job", by: phones[99 - left])
            #expect(table.followers(of: "job").count == left)
            let isSearched = left <= FollowTable<String, Phone>.mostSearched
            #expect(table.indexes["job"]?.count == (isSearched ? nil : left))
        }
        #expect(table.indexes.isEmpty)
    }
}
