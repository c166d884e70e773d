// The followers of each topic on one event loop. `followers(of:)` returns a value, so followers can join and leave
// while a message is being delivered.
//
// This code is generic and runs for every message, called from another module. Swift specializes it for the caller's
// types only if it is `@inlinable public`; `package` code goes through runtime metadata (decisions/public-generics.md).

/// The followers of each topic.
public struct FollowTable<Topic: Hashable, Follower: AnyObject> {
    @usableFromInline var followersOfTopic: [Topic: ContiguousArray<Follower>] = [:]

    @inlinable
    public init() {}

    public typealias Upstream = FollowedUpstream

    /// Adds a follower. O(1). A follower must not follow the same topic twice.
    @inlinable
    public mutating func follow(_ topic: Topic, by follower: Follower) -> Upstream {
        self.followersOfTopic[topic, default: []].append(follower)
        return self.followersOfTopic[topic]?.count == 1 ? .subscribe : .nothing
    }

    /// Removes a follower. O(followers of the topic). Does nothing when it does not follow the topic.
    @inlinable
    public mutating func unfollow(_ topic: Topic, by follower: Follower) -> Upstream {
        guard let index = self.followersOfTopic[topic]?.firstIndex(where: { $0 === follower }) else { return .nothing }
        let last = (self.followersOfTopic[topic]?.count ?? 0) - 1
        guard last > 0 else {
            self.followersOfTopic[topic] = nil
            return .unsubscribe
        }
        // The order has no meaning, so the last follower fills the gap instead of shifting all others.
        self.followersOfTopic[topic]?.swapAt(index, last)
        self.followersOfTopic[topic]?.removeLast()
        return .nothing
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
