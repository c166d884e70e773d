import NIOCore
import Redis
import Testing

@Suite struct ReplicaQuorumTests {
    @Test(arguments: [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
    func `B33: a majority is more than half of the replicas`(replicas: Int, needed: Int) {
        #expect(ReplicaQuorum.majority.needed(of: replicas) == needed)
        #expect(ReplicaQuorum.all.needed(of: replicas) == replicas)
        #expect(ReplicaQuorum.count(1).needed(of: replicas) == 1)
    }

    @Test func `B33: a disconnected replica counts for a minute`() {
        var replicas = RecentReplicas()
        let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
        #expect(replicas.maximum(now: start) == 0)
        replicas.record(2, now: start)
        replicas.record(1, now: start + .seconds(1))
        replicas.record(0, now: start + .seconds(2))
        #expect(replicas.maximum(now: start + .seconds(59)) == 2)
        #expect(replicas.maximum(now: start + .seconds(60)) == 1)
        #expect(replicas.maximum(now: start + .seconds(62)) == 0)
        replicas.record(3, now: start + .seconds(63))
        #expect(replicas.maximum(now: start + .seconds(64)) == 3)
        // When it is seen again, the minute starts over.
        replicas.record(3, now: start + .seconds(100))
        replicas.record(2, now: start + .seconds(101))
        #expect(replicas.maximum(now: start + .seconds(159)) == 3)
    }
}
