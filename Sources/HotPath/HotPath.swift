// The stations that one location passes, from the rider's socket to a follower's: in order, each with the file that is the
// station. In a debug build (on Linux) a station records that it was passed, where a test asked for it; in a release build
// `HotPath.pass` is empty and inlined, so nothing of it is left.

#if DEBUG && os(Linux)
    internal import Glibc
    internal import Synchronization
#endif

/// A station of the hot path. Tests/GatewayTests/HotPathTests sends one location through a gateway and compares.
public enum HotPath: String, CaseIterable, Sendable {
    case sessionInput = "Sources/Realtime/Session/SessionInput.swift"
    case locationReport = "Sources/EnrouteWire/Location/LocationReport.swift"
    case riderSession = "Sources/Realtime/Trips/RiderSession.swift"
    case tripValidators = "Sources/Realtime/Trips/TripValidators.swift"
    case locationPublisher = "Sources/LiveState/Jobs/LocationPublisher.swift"
    /// Runs in Redis, so it records nothing: what it stored and published shows that it was passed.
    case publishLocation = "lua/publish_location.lua"
    case redisChannelHandler = "Sources/Redis/RedisChannelHandler.swift"
    case loopRelay = "Sources/Realtime/Relay/LoopRelay.swift"
    case followedJob = "Sources/Realtime/Relay/FollowedJob.swift"
    case secureSocketHandler = "Sources/SecureSocket/SecureSocketHandler.swift"

    /// A location, or the message it is in, is at this station now.
    @inlinable
    public static func pass(_ station: HotPath) {
        #if DEBUG && os(Linux)
            Self.record(station)
        #endif
    }
}

#if DEBUG && os(Linux)
    /// What is passed on some threads, in order: an event loop stays on its thread.
    package struct HotPathRecording: Sendable {
        private struct Passed {
            var recordings: [UInt: Int] = [:]
            var stations: [Int: [HotPath]] = [:]
            var last = 0
        }

        private static let passed = Mutex(Passed())
        private static let isRecording = Atomic(false)
        private let number: Int

        package init() {
            self.number = Self.passed.withLock { passed in
                passed.last += 1
                passed.stations[passed.last] = []
                return passed.last
            }
            Self.isRecording.store(true, ordering: .relaxed)
        }

        /// Records what is passed on this thread from now on.
        package func hearThisThread() {
            Self.passed.withLock { $0.recordings[UInt(pthread_self())] = self.number }
        }

        /// What was passed until now.
        package var stations: [HotPath] { Self.passed.withLock { $0.stations[self.number] ?? [] } }

        package func end() {
            Self.passed.withLock { passed in
                passed.recordings = passed.recordings.filter { $0.value != self.number }
                passed.stations[self.number] = nil
                Self.isRecording.store(!passed.stations.isEmpty, ordering: .relaxed)
            }
        }

        fileprivate static func pass(_ station: HotPath) {
            guard self.isRecording.load(ordering: .relaxed) else { return }
            self.passed.withLock { passed in
                if let number = passed.recordings[UInt(pthread_self())] { passed.stations[number]?.append(station) }
            }
        }
    }

    extension HotPath {
        @usableFromInline
        static func record(_ station: HotPath) { HotPathRecording.pass(station) }
    }
#endif
