// A client that follows a job: the state of its session in the gateway, and what it was shown. Only the oracle reads
// what it was shown, and the client itself when it reconnects and sends the last event that it saw.

import Fanout
import Resilience

final class Follower {
    enum Stage {
        case away
        case authorising
        /// Unacknowledged channels are in `awaiting`.
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
    /// Distinguishes requests from before and after it reconnected.
    var attempt = 0
    /// The last state it saw, sent when it reconnects.
    var resumes = false
    /// Whether the client wants to follow, even if it currently does not.
    var isWanted = false
    /// A snapshot that was read too early (`Flaw.readsBeforeSubscribing`).
    var early: Int?

    // The events it was shown.
    /// The message of the last status; -1 for none.
    var status = -1
    /// The message of the last position, and its id since the last snapshot.
    var position = -1
    var positionID: UInt64 = 0
    /// Whether it was shown anything since it joined.
    var wasShown = false

    init(_ index: Int, of job: Int, at gateway: Int) {
        self.index = index
        self.job = job
        self.gateway = gateway
    }

    var channels: Channels { 3 << UInt32(2 * self.job) }
}

/// Names of epochs, computed without storage.
let epochNames = (0..<64).map { "\($0)" }
