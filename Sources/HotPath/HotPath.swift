// The stations of one location on its way from the rider's socket to a follower's, in order, each named after its file.
// In a debug build (on Linux) a station records that it was passed if a test has requested it. In a release build
// `HotPath.pass` is empty and inlined, so it costs nothing.

#if DEBUG && os(Linux)
    internal import Glibc
    internal import Synchronization
#endif

/// A station of the hot path. Tests/GatewayTests/HotPathTests sends one location through a gateway and compares the stations.
public enum HotPath: String, CaseIterable, Sendable {
    case sessionInput = "Sources/Realtime/Session/SessionInput.swift"
    case locationReport = "Sources/EnrouteWire/Location/LocationReport.swift"
    case riderSession = "Sources/Realtime/Trips/RiderSession.swift"
    case tripValidators = "Sources/Realtime/Trips/TripValidators.swift"
    case locationPublisher = "Sources/LiveState/Jobs/LocationPublisher.swift"
    /// Runs in Redis and records nothing: the stored position and the published message prove that it ran.
    case publishLocation = "lua/publish_location.lua"
    case redisChannelHandler = "Sources/Redis/RedisChannelHandler.swift"
    case loopRelay = "Sources/Realtime/Relay/LoopRelay.swift"
    case followedJob = "Sources/Realtime/Relay/FollowedJob.swift"
    case secureSocketHandler = "Sources/SecureSocket/SecureSocketHandler.swift"

    /// Records that a location, or the message that contains it, is at this station.
    @inlinable
    public static func pass(_ station: HotPath) {
        #if DEBUG && os(Linux)
            Self.record(station)
        #endif
    }
}

#if DEBUG && os(Linux)
    /// Records the stations passed on certain threads, in order. An event loop never changes its thread.
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

        /// Starts recording on this thread.
        package func recordThisThread() {
            Self.passed.withLock { $0.recordings[UInt(pthread_self())] = self.number }
        }

        /// The stations passed so far.
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
