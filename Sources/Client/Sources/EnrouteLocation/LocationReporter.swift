// Reads the location with CoreLocation and reports it. It makes no decisions: `LocationPlan`, `LocationEvidence` and
// `PermissionFlow` do.

#if canImport(CoreLocation)
    public import CoreLocation
    public import Enroute
    public import Foundation

    extension Fix {
        /// Returns `nil` for a reading without a position. Negative values mean "unknown" and are left out.
        public init?(_ location: CLLocation) {
            guard location.horizontalAccuracy >= 0 else { return nil }
            self.init(
                place: Place(
                    latitude: location.coordinate.latitude, longitude: location.coordinate.longitude),
                measuredAt: location.timestamp, accuracy: location.horizontalAccuracy,
                speed: location.speed >= 0 ? location.speed : nil, course: location.course >= 0 ? location.course : nil,
                isMocked: location.sourceInformation?.isSimulatedBySoftware)
        }
    }

    /// Reports the location for jobs, in the order of their stops, until `stop()`. With the background mode `location` in the
    /// app's Info.plist, it continues while the app is in the background.
    @MainActor public final class LocationReporter: NSObject {
        /// The phase that the app shows, from the table of US-122.
        public private(set) var phase = PermissionFlow.Phase.off
        /// Called when `phase` changed.
        public var onPhase: ((PermissionFlow.Phase) -> Void)?

        private let rider: RiderClient
        private let manager = CLLocationManager()
        private var jobs: [JobID] = []
        private var lastFixAt: ContinuousClock.Instant?
        private var begunAt = ContinuousClock.now
        private var reported: UnavailableReason?
        private var tasks: [Task<Void, Never>] = []
        private var wasRefused = false
        private var plan = LocationPlan(pace: .seconds(1))

        public init(rider: RiderClient) {
            self.rider = rider
            super.init()
            self.manager.delegate = self
        }

        /// Call it when the rider taps the button that activates travel mode. The system shows its prompt only after
        /// `consent()`.
        public func start(for jobs: [JobID]) {
            self.jobs = jobs
            self.reported = nil
            self.perform(self.evidence.wish(wasRefused: self.wasRefused))
        }

        /// Call it when the rider has read why the location is needed and has agreed.
        public func consent() { self.perform(.consent) }

        /// Call it when the rider has closed the panel.
        public func cancel() { self.perform(.cancel) }

        public func stop() { self.perform(.stop) }

        private var evidence: LocationEvidence {
            let permission: LocationEvidence.Permission =
                switch self.manager.authorizationStatus {
                case .notDetermined: .prompt
                case .denied: .denied
                case .restricted: .restricted
                default: .granted
                }
            return LocationEvidence(
                permission: permission, areServicesEnabled: self.manager.authorizationStatus != .denied || !self.isOff,
                isReduced: self.manager.accuracyAuthorization == .reducedAccuracy,
                sinceLastFix: self.lastFixAt.map { .now - $0 },
                isLowPower: ProcessInfo.processInfo.isLowPowerModeEnabled)
        }

        /// Set by the delegate, because querying the class blocks the main thread.
        private var isOff = false

        private func perform(_ event: PermissionFlow.Event) {
            let step = PermissionFlow.step(self.phase, event)
            let isNew = step.phase != self.phase
            self.phase = step.phase
            for action in step.actions { self.perform(action) }
            if isNew { self.onPhase?(step.phase) }
        }

        private func perform(_ action: PermissionFlow.Action) {
            switch action {
            case .ask: self.manager.requestWhenInUseAuthorization()
            case .begin: self.begin()
            case .unwatch, .drop: self.end()
            case .reportPermissionDenied: self.report(.permissionDenied)
            case .reportServicesDisabled: self.report(.servicesDisabled)
            case .reportNoFix: self.report(.noFix)
            case .rememberRefused, .rememberDismissed: self.wasRefused = true
            case .forget: self.wasRefused = false
            case .tellAllowed: break
            }
        }

        private func begin() {
            guard self.tasks.isEmpty else { return }
            #if os(iOS) || ENROUTE_STUBS
                self.manager.activityType = .otherNavigation
                self.manager.pausesLocationUpdatesAutomatically = false
                // The system terminates an app that requests this without the background mode in its Info.plist.
                let modes = Bundle.main.object(forInfoDictionaryKey: "UIBackgroundModes") as? [String]
                self.manager.allowsBackgroundLocationUpdates = modes?.contains("location") == true
            #endif
            self.begunAt = .now
            self.configure()
            self.manager.startUpdatingLocation()
            self.tasks = [
                Task { [weak self, rider] in for await pace in rider.pace { self?.follow(pace) } },
                Task { [weak self] in
                    while !Task.isCancelled, let wait = self?.plan.lookAgainAfter {
                        guard (try? await Task.sleep(for: wait)) != nil else { return }
                        self?.lookAgain()
                    }
                },
            ]
            #if os(iOS) || ENROUTE_STUBS
                if #available(iOS 17, *) { self.tasks.append(BackgroundReading.start()) }
            #endif
        }

        private func end() {
            self.manager.stopUpdatingLocation()
            for task in self.tasks { task.cancel() }
            self.tasks = []
        }

        private func follow(_ pace: Duration) {
            self.plan = LocationPlan(pace: pace)
            self.configure()
        }

        private func configure() {
            self.manager.desiredAccuracy =
                self.plan.accuracy <= 5 ? kCLLocationAccuracyBest : kCLLocationAccuracyNearestTenMeters
            self.manager.distanceFilter =
                self.plan.distanceFilter(after: self.silence) ?? kCLDistanceFilterNone
        }

        /// The time since the last reading, or since reading started.
        private var silence: Duration { .now - max(self.lastFixAt ?? self.begunAt, self.begunAt) }

        /// Asks a silent receiver for a reading by removing its distance filter. `requestLocation()` must not be used while
        /// the location is being updated, and stopping the updates in the background may suspend the app.
        private func lookAgain() {
            guard self.plan.distanceFilter(after: self.silence) == nil else { return }
            if let reason = self.evidence.unavailableReason { self.report(reason) }
            self.configure()
        }

        private func report(_ reason: UnavailableReason) {
            guard reason != self.reported else { return }
            self.reported = reason
            let (rider, jobs) = (self.rider, self.jobs)
            Task {
                // A reason that did not reach the gateway is reported again at the next check.
                for job in jobs {
                    do {
                        try await rider.reportUnavailable(reason, for: job)
                    } catch {
                        self.reported = nil
                    }
                }
            }
        }

        private func received(_ fixes: [Fix]) {
            guard !fixes.isEmpty else { return }
            let wasSilent = self.plan.distanceFilter(after: self.silence) == nil
            self.lastFixAt = .now
            self.reported = nil
            if wasSilent { self.configure() }
            self.perform(.fix)
            let (rider, jobs) = (self.rider, self.jobs)
            Task { for fix in fixes { await rider.report(fix, for: jobs) } }
        }
    }

    extension LocationReporter: CLLocationManagerDelegate {
        nonisolated public func locationManager(
            _ manager: CLLocationManager, didUpdateLocations locations: [CLLocation]
        ) {
            let fixes = locations.compactMap { Fix($0) }
            Task { @MainActor in self.received(fixes) }
        }

        nonisolated public func locationManager(_ manager: CLLocationManager, didFailWithError error: any Error) {
            let isDenied = (error as? CLError)?.code == .denied
            Task { @MainActor in self.perform(isDenied ? .failDenied : .failUnavailable) }
        }

        nonisolated public func locationManagerDidChangeAuthorization(_ manager: CLLocationManager) {
            // Querying the class may block this queue, so another queue does it.
            Task {
                let areEnabled = CLLocationManager.locationServicesEnabled()
                await MainActor.run {
                    self.isOff = !areEnabled
                    self.perform(areEnabled ? self.evidence.change : .failServices)
                }
            }
        }
    }

    #if os(iOS) || ENROUTE_STUBS
        /// Keeps the app running in the background while the location is read: iOS 17 and newer.
        @available(iOS 17, *)
        enum BackgroundReading {
            @MainActor static func start() -> Task<Void, Never> {
                let session = CLBackgroundActivitySession()
                return Task {
                    // The session ends when it is invalidated, here when the task is cancelled.
                    for await _ in AsyncStream<Never>.makeStream().stream {}
                    session.invalidate()
                }
            }
        }
    #endif
#endif
