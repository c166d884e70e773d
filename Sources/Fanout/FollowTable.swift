// The followers of each topic on one event loop. `followers(of:)` returns a value, so followers can join and leave
// while a message is being delivered.
//
// This code is generic and runs for every message, called from another module. Swift specializes it for the caller's
// types only if it is `@inlinable public`; `package` code goes through runtime metadata (decisions/public-generics.md).

/// The followers of each topic.
public struct FollowTable<Topic: Hashable, Follower: AnyObject> {
    @usableFromInline var followersOfTopic: [Topic: ContiguousArray<Follower>] = [:]
    /// The index of each follower of a topic that has more than `mostSearched`.
    @usableFromInline var indexes: [Topic: [ObjectIdentifier: Int]] = [:]

    /// Up to this number of followers, searching the array costs less than a dictionary.
    @inlinable static var mostSearched: Int { 4 }

    @inlinable
    public init() {}

    public typealias Upstream = FollowedUpstream

    /// Adds a follower. O(1). A follower must not follow the same topic twice.
    @inlinable
    public mutating func follow(_ topic: Topic, by follower: Follower) -> Upstream {
        self.followersOfTopic[topic, default: []].append(follower)
        let followers = self.followers(of: topic)
        if followers.count == Self.mostSearched + 1 {
            for (index, follower) in followers.enumerated() { self.setIndex(of: follower, of: topic, to: index) }
        } else if followers.count > Self.mostSearched {
            self.setIndex(of: follower, of: topic, to: followers.count - 1)
        }
        return followers.count == 1 ? .subscribe : .nothing
    }

    /// Removes a follower. O(1). Does nothing when it does not follow the topic.
    @inlinable
    public mutating func unfollow(_ topic: Topic, by follower: Follower) -> Upstream {
        guard let index = self.index(of: follower, of: topic) else { return .nothing }
        let last = self.followers(of: topic).count - 1
        guard last > 0 else {
            self.followersOfTopic[topic] = nil
            return .unsubscribe
        }
        // The order has no meaning, so the last follower fills the gap instead of shifting all others.
        self.followersOfTopic[topic]?.swapAt(index, last)
        self.followersOfTopic[topic]?.removeLast()
        guard last > Self.mostSearched else {
            self.indexes[topic] = nil
            return .nothing
        }
        self.indexes[topic]?[ObjectIdentifier(follower)] = nil
        if index < last { self.setIndex(of: self.followers(of: topic)[index], of: topic, to: index) }
        return .nothing
    }

    @inlinable
    func index(of follower: Follower, of topic: Topic) -> Int? {
        let followers = self.followers(of: topic)
        guard followers.count > Self.mostSearched else { return followers.firstIndex { $0 === follower } }
        return self.indexes[topic]?[ObjectIdentifier(follower)]
    }

    @inlinable
    mutating func setIndex(of follower: Follower, of topic: Topic, to index: Int) {
        self.indexes[topic, default: [:]][ObjectIdentifier(follower)] = index
    }

    @inlinable
    public func followers(of topic: Topic) -> ContiguousArray<Follower> { self.followersOfTopic[topic] ?? [] }

    @inlinable
    public var topics: Dictionary<Topic, ContiguousArray<Follower>>.Keys { self.followersOfTopic.keys }
}

/// The change that is needed at the source of the messages. Not nested in `FollowTable`, because comparing two nested
/// values would need the metadata of the generic type.
public enum FollowedUpstream: Hashable, Sendable {
    case nothing
    /// The topic has its first follower on this loop.
    case subscribe
    /// The topic lost its last follower on this loop.
    case unsubscribe
}
