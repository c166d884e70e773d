// Who follows what, on one event loop: a topic and its followers, nothing of sockets. Whoever delivers walks `followers`,
// a value: followers may come and go during the walk without disturbing it.
//
// Generic, and called for every message from another module. Swift makes a copy for the caller's types only
// where it is `@inlinable public`; a `package` one goes through runtime metadata (decisions/public-generics.md).

/// The followers of each topic.
public struct FollowTable<Topic: Hashable, Follower: AnyObject> {
    @usableFromInline var followersOfTopic: [Topic: ContiguousArray<Follower>] = [:]

    @inlinable
    public init() {}

    public typealias Upstream = FollowedUpstream

    /// Cost: O(1). A follower must not follow the same topic twice.
    @inlinable
    public mutating func follow(_ topic: Topic, by follower: Follower) -> Upstream {
        self.followersOfTopic[topic, default: []].append(follower)
        return self.followersOfTopic[topic]?.count == 1 ? .subscribe : .nothing
    }

    /// Cost: O(followers of the topic). Does nothing when it does not follow.
    @inlinable
    public mutating func unfollow(_ topic: Topic, by follower: Follower) -> Upstream {
        guard let index = self.followersOfTopic[topic]?.firstIndex(where: { $0 === follower }) else { return .nothing }
        let last = (self.followersOfTopic[topic]?.count ?? 0) - 1
        guard last > 0 else {
            self.followersOfTopic[topic] = nil
            return .unsubscribe
        }
        // Order means nothing, so the last one takes the place: no shifting.
        self.followersOfTopic[topic]?.swapAt(index, last)
        self.followersOfTopic[topic]?.removeLast()
        return .nothing
    }

    @inlinable
    public func followers(of topic: Topic) -> ContiguousArray<Follower> { self.followersOfTopic[topic] ?? [] }

    @inlinable
    public var topics: Dictionary<Topic, ContiguousArray<Follower>>.Keys { self.followersOfTopic.keys }
}

/// What has to happen upstream, where the messages come from. Not inside `FollowTable`, where comparing two
/// would need its metadata.
public enum FollowedUpstream: Hashable, Sendable {
    case nothing
    /// This is the topic's first follower here.
    case subscribe
    /// That was the topic's last follower here.
    case unsubscribe
}
