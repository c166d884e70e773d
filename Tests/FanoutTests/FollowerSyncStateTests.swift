import Testing

@testable import Fanout

@Suite struct FollowerSyncStateTests {
    private typealias View = FollowerSyncState<Int>

    private static func status(_ id: Int, after previous: Int?, epoch: String = "e") -> View.Status {
        View.Status(id: id, previous: previous, epoch: epoch, frame: [UInt8(id)])
    }

    @Test func `messages before the snapshot are buffered, and only newer ones are sent`() {
        var view = View()
        #expect(view.position(5, [5]) == false)
        #expect(view.position(7, [7]) == false)
        #expect(view.status(Self.status(2, after: 1)) == .skip)
        #expect(view.status(Self.status(3, after: 2)) == .skip)
        #expect(view.snapshot(position: 6, epoch: "e", status: 2)?.frames == [[3], [7]])
        #expect(view.isLive)
    }

    @Test func `a buffered position that the snapshot contains is skipped`() {
        var view = View()
        _ = view.position(5, [5])
        #expect(view.snapshot(position: 5, epoch: "e", status: 1)?.frames == [])
    }

    @Test func `positions never go back and are never duplicated`() {
        var view = View()
        _ = view.snapshot(position: 10, epoch: "e", status: 1)
        #expect(view.position(9, [9]) == false)
        #expect(view.position(10, [10]) == false)
        #expect(view.position(11, [11]) == true)
        #expect(view.position(11, [11]) == false)
    }

    @Test func `a status is sent once, and a missing one before it is a gap`() {
        var view = View()
        _ = view.snapshot(position: nil, epoch: "e", status: 1)
        #expect(view.status(Self.status(2, after: 1)) == .show)
        #expect(view.status(Self.status(2, after: 1)) == .skip)
        #expect(view.status(Self.status(4, after: 3)) == .gap)
        #expect(view.seen?.id == 2)
    }

    @Test func `a status of another epoch is a gap, whatever its id`() {
        var view = View()
        _ = view.snapshot(position: nil, epoch: "e", status: 5)
        #expect(view.status(Self.status(6, after: 5, epoch: "f")) == .gap)
        #expect(view.status(Self.status(1, after: nil, epoch: "f")) == .gap)
    }

    @Test func `a gap between the snapshot and the buffered statuses is detected`() {
        var view = View()
        _ = view.status(Self.status(4, after: 3))
        #expect(view.snapshot(position: nil, epoch: "e", status: 2) == nil)
    }

    @Test func `positions are buffered during a resync, and none older than the snapshot is sent`() {
        var view = View()
        _ = view.snapshot(position: 10, epoch: "e", status: 1)
        #expect(view.position(20, [20]) == true)
        view.invalidate()
        #expect(view.position(21, [21]) == false)
        #expect(view.snapshot(position: 15, epoch: "e", status: 1)?.frames == [[21]])
        #expect(view.position(20, [20]) == false)
    }

    @Test func `an invalidated follower needs a resync until the next snapshot, a new follower does not`() {
        var view = View()
        #expect(!view.needsResync)
        view.invalidate()
        #expect(view.needsResync && !view.isLive)
        _ = view.snapshot(position: nil, epoch: "e", status: 1)
        #expect(!view.needsResync && view.isLive)
    }

    @Test func `B42: a message that cannot be ordered requires a new snapshot for that follower alone`() {
        var view = View()
        #expect(view.tracking() == false)
        #expect(view.needsNewSnapshot)
        // Not a gap, because that would read the job again for all followers and send each of them a reset.
        #expect(view.status(Self.status(2, after: 1)) == .skip)
        view.restartWaiting()
        #expect(!view.needsNewSnapshot && !view.isLive)
        #expect(view.status(Self.status(3, after: 2)) == .skip)
        #expect(view.snapshot(position: nil, epoch: "e", status: 2)?.statuses.count == 1)
        #expect(view.isLive)
    }

    @Test func `more statuses than can be buffered are a gap`() {
        var view = View()
        for id in 1...View.maxWaitingStatuses { #expect(view.status(Self.status(id, after: id - 1)) == .skip) }
        #expect(view.status(Self.status(65, after: 64)) == .gap)
    }
}

@Suite struct TokenBucketTests {
    @Test func `a burst passes immediately, then the rate applies`() {
        var bucket = TokenBucket(perSecond: 2, burst: 3)
        let taken = (0..<4).map { _ in bucket.take(at: 1_000_000_000) }
        #expect(taken == [true, true, true, false])
        #expect(bucket.take(at: 1_400_000_000) == false)
        #expect(bucket.take(at: 1_600_000_000) == true)
        #expect(bucket.take(at: 1_700_000_000) == false)
    }

    @Test func `a long pause refills the bucket up to the burst`() {
        var bucket = TokenBucket(perSecond: 2, burst: 3)
        _ = bucket.take(at: 0)
        let taken = (0..<5).count { _ in bucket.take(at: 3_600_000_000_000) }
        #expect(taken == 3)
    }

    @Test func `a clock that goes back adds no tokens`() {
        var bucket = TokenBucket(perSecond: 1, burst: 1)
        #expect(bucket.take(at: 5_000_000_000) == true)
        #expect(bucket.take(at: 1_000_000_000) == false)
    }
}
