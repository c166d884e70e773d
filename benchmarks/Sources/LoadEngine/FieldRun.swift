// Performs a scene against a running gateway.

internal import Glibc

extension EnrouteGateway {
    /// - Parameter redis: the nodes of the gateway's live Redis; empty to count no commands.
    public func play(_ scene: FieldScene, counting redis: [Endpoint], watched: Watched, loop: Loop) throws -> Report {
        guard scene.perSecond * Double(scene.jobsPerRider) / Double(scene.riders) <= Self.maxPerRider else {
            throw LoadError(
                "a rider may report \(Int(Self.maxPerRider)) positions a second over all its jobs: raise --interval")
        }
        try Descriptors.raise(toHold: scene.connections)
        let fleet = Fleet(scene)
        let before = watched.server?.memory
        let riders = Crowd(self.riderTarget, dial: self.dial, identities: fleet.riders(self.mint), loop: loop)
        defer { riders.close() }
        try self.employ(fleet, loop)
        try riders.open(timeout: FieldScene.patience)
        try self.declareOnline(fleet, loop)
        try self.create(fleet.newJobs, underway: true, loop: loop)
        let crowd = Crowd(
            self.target(.captureTime), dial: self.dial, identities: fleet.followers(self.mint), loop: loop)
        defer { crowd.close() }
        let opening = try crowd.openTimed(watched, timeout: FieldScene.patience)

        var delivery = Delivery(
            mode: scene.kind.rawValue, perSecond: scene.perSecond, channels: scene.riders, warmup: scene.warmup,
            seconds: scene.seconds, patience: FieldScene.patience)
        delivery.locationsPerMessage = scene.jobsPerRider
        let counter = redis.isEmpty ? nil : try RedisCounter(redis, loop: loop)
        defer { counter?.close() }
        var report = try delivery.run(
            crowd, CrowdPublisher(riders, reports: fleet.reports, journey: Journey()), watched, loop, counting: counter)
        (report.scene, report.opening, report.connections) = (SceneFigures(scene), opening, scene.connections)
        // From a gateway without clients to one with all of them, after minutes of reports.
        if let before, let server = watched.server {
            report.memory = MemoryFigures(before: before, after: server.memory, connections: scene.connections)
        }
        report.note(riders.tally)
        report.judge()
        return report
    }

    /// Puts the riders into their zones.
    private func employ(_ fleet: Fleet, _ loop: Loop) throws {
        guard fleet.scene.kind == .field else { return }
        try RESTClient(self.dial, loop: loop).perform(
            (0..<fleet.scene.riders).map { index in
                let body =
                    #"{"zone":"\#(fleet.zone(ofRider: index))","approved":true,"capacity":\#(fleet.scene.jobsPerRider)}"#
                return RESTRequest("PUT", "/api/v1/riders/\(fleet.rider(index))", headers: self.service, body: body)
            }, accepting: [200, 201], timeout: FieldScene.patience)
    }

    private func declareOnline(_ fleet: Fleet, _ loop: Loop) throws {
        guard fleet.scene.kind == .field else { return }
        try RESTClient(self.dial, loop: loop).perform(
            (0..<fleet.scene.riders).map { index in
                RESTRequest(
                    "PATCH", "/api/v1/riders/me/status", headers: self.headers(rider: fleet.rider(index)),
                    body: #"{"status":"online"}"#)
            }, accepting: [200], timeout: FieldScene.patience)
    }
}

extension Crowd {
    /// Opens all followers and reports their cost.
    func openTimed(_ watched: Watched, timeout seconds: Double) throws -> OpeningFigures? {
        guard self.count > 0 else { return nil }
        let (cpu, begin) = (watched.server?.cpu, Clock.now)
        try self.open(self.count, timeout: seconds)
        let (later, elapsed) = (watched.server?.cpu, Double(Clock.now - begin) / 1e9)
        let opened = Double(self.count)
        return OpeningFigures(
            perSecond: opened / elapsed, cpu: later.map { ($0 - cpu!).scheduled * 1e6 / opened })
    }
}
