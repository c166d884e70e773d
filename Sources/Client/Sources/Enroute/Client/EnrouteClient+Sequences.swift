// The sequences that apps read. Each reader has a stream, which ends when the app stops reading or the client ends it.

extension EnrouteClient {
    func openStates() -> AsyncStream<ConnectionState> {
        self.states.open(first: self.connectionState) { [weak self] id in Task { await self?.closeStates(id) } }
    }

    func openPaces() -> AsyncStream<Duration> {
        let current = Duration(ms: self.machine.fixes.interval)
        return self.paces.open(first: current) { [weak self] id in Task { await self?.closePaces(id) } }
    }

    func openOutcomes() -> AsyncStream<ReportOutcome> {
        self.outcomes.open(first: nil) { [weak self] id in Task { await self?.closeOutcomes(id) } }
    }

    private func closeStates(_ id: Int) { self.states.close(id) }

    private func closePaces(_ id: Int) { self.paces.close(id) }

    private func closeOutcomes(_ id: Int) { self.outcomes.close(id) }

    func openViews(of job: JobID) -> AsyncThrowingStream<JobView, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: JobView.self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(1))
        let id = self.add(.view(continuation, job))
        continuation.onTermination = { [weak self] _ in Task { await self?.remove(id) } }
        self.change { $0.follow(job, viewer: id, at: $1) }
        return stream
    }

    func openStatusEvents(
        of job: JobID, after cursor: StatusCursor?
    ) -> AsyncThrowingStream<StatusEvent, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: StatusEvent.self, throwing: (any Error).self,
            bufferingPolicy: .bufferingOldest(Self.mostStatusEvents))
        let id = self.add(.status(continuation, job))
        continuation.onTermination = { [weak self] _ in Task { await self?.remove(id) } }
        self.change { $0.follow(job, reader: id, after: cursor, at: $1) }
        return stream
    }

    func openPool(of zone: String) -> AsyncThrowingStream<Pool, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: Pool.self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(1))
        let id = self.add(.pool(continuation, zone))
        continuation.onTermination = { [weak self] _ in Task { await self?.remove(id) } }
        self.change { $0.watch(zone, consumer: id, at: $1) }
        return stream
    }

    private func add(_ consumer: Consumer) -> Int {
        self.lastConsumer += 1
        self.consumers[self.lastConsumer] = consumer
        return self.lastConsumer
    }

    private func remove(_ id: Int) {
        switch self.consumers.removeValue(forKey: id) {
        case .view(_, let job), .status(_, let job): self.change { $0.unfollow(job, consumer: id, at: $1) }
        case .pool(_, let zone): self.change { $0.unwatch(zone, consumer: id, at: $1) }
        case nil: break
        }
    }

    func deliver(_ event: StatusEvent, to id: Int) {
        guard case .status(let continuation, _) = self.consumers[id] else { return }
        guard case .dropped = continuation.yield(event) else { return }
        continuation.finish(
            throwing: EnrouteError(
                .slowConsumer, "More than \(Self.mostStatusEvents) status events wait. Resume from the last cursor.",
                isRetryable: true))
    }
}
