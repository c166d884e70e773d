// One client that follows one job: what its session in the gateway knows, and what it was shown, which only the oracle
// looks at, and the client itself when it comes back and says where it was.

import Fanout
import Resilience

final class Follower {
    enum Stage {
        case away
        case authorising
        /// Channels without an acknowledgement are in `awaiting`.
        case subscribing
        case reading
        case shown
    }

    let index: Int
    let job: Int
    let gateway: Int
    var stage = Stage.away
    var following = FollowerSyncState<Int>()
    var awaiting: Channels = 0
    /// Tells what was asked before it left from what was asked after it came back.
    var attempt = 0
    /// It says what it saw last.
    var resumes = false
    /// The client wants to follow, whether or not it does at the moment.
    var isWanted = false
    /// A snapshot that was read too early (`Flaw.readsBeforeSubscribing`).
    var early: Int?

    // What it was shown.
    /// The message of the last status; -1 for none.
    var status = -1
    /// The message of the last position, and its id since the last snapshot.
    var position = -1
    var positionID: UInt64 = 0
    /// It was shown something since it came.
    var wasShown = false

    init(_ index: Int, of job: Int, at gateway: Int) {
        self.index = index
        self.job = job
        self.gateway = gateway
    }

    var channels: Channels { 3 << UInt32(2 * self.job) }
}

/// Names of epochs that need no memory of their own.
let epochNames = (0..<64).map { "\($0)" }
