// Who follows what, on one event loop: a topic and its followers, nothing of sockets. Whoever delivers walks `followers`,
// a value: followers may come and go during the walk without disturbing it.

/// The followers of each topic.
package struct FollowTable<Topic: Hashable, Follower: AnyObject> {
    private var followersOfTopic: [Topic: ContiguousArray<Follower>] = [:]

    package init() {}

    /// What has to happen upstream, where the messages come from.
    package enum Upstream: Hashable, Sendable {
        case nothing
        /// This is the topic's first follower here.
        case subscribe
        /// That was the topic's last follower here.
        case unsubscribe
    }

    /// Cost: O(1). A follower must not follow the same topic twice.
    package mutating func follow(_ topic: Topic, by follower: Follower) -> Upstream {
        self.followersOfTopic[topic, default: []].append(follower)
        return self.followersOfTopic[topic]?.count == 1 ? .subscribe : .nothing
    }

    /// Cost: O(followers of the topic). Does nothing when it does not follow.
    package mutating func unfollow(_ topic: Topic, by follower: Follower) -> Upstream {
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

    package func followers(of topic: Topic) -> ContiguousArray<Follower> { self.followersOfTopic[topic] ?? [] }

    package var topics: Dictionary<Topic, ContiguousArray<Follower>>.Keys { self.followersOfTopic.keys }
}
