// Signals of Apple's systems: network changes, and the app entering the background and the foreground. On other
// systems, call `setOnline`, `enterBackground` and `wake` yourself.

#if canImport(Network)
    internal import Network

    extension EnrouteClient {
        /// Notifies the client whether the device has a network, until the task is cancelled.
        public nonisolated func followNetwork() async {
            let (stream, continuation) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(1))
            let monitor = NWPathMonitor()
            monitor.pathUpdateHandler = { continuation.yield($0.status == .satisfied) }
            monitor.start(queue: .global())
            defer { monitor.cancel() }
            for await isOnline in stream { await self.setOnline(isOnline) }
        }
    }
#endif
