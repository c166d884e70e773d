// Requests map tiles from a provider on behalf of the pages, so that the provider's key stays secret and the provider does not
// learn who looks at the map. Concurrent requests for a tile share one request to the provider. If the provider fails, a
// circuit breaker stops requests for a while, and the map is shown without tiles.

internal import Fanout
package import Logging
internal import NIOCore
package import Routing
internal import Telemetry

/// The tile provider.
package struct TileSettings: Sendable {
    package var source: TileSource
    /// The attribution to display on the map.
    package var attribution: String
    /// A PEM file of certificate authorities to trust for the provider; `nil` for the system's.
    package var authorities: String?

    package init(source: TileSource, attribution: String, authorities: String? = nil) {
        (self.source, self.attribution, self.authorities) = (source, attribution, authorities)
    }
}

/// The tile proxy of one gateway.
package actor TileProxy {
    /// The maximum size of the cache in bytes.
    static let maxBytes = 33_554_432
    /// The maximum number of concurrent requests to the provider.
    static let maxConcurrentRequests = 32
    /// The rate limit of requests to the provider for all clients of this gateway together, which bounds the costs.
    static let requestsPerSecond = 100
    static let requestBurst = 1000

    private let source: TileSource
    private let client: ProviderClient
    private let logger: Logger
    private var cache = TileCache(maxBytes: TileProxy.maxBytes)
    private var breaker = CircuitBreaker()
    private var rate = TokenBucket(perSecond: TileProxy.requestsPerSecond, burst: TileProxy.requestBurst)
    private var requests: [Tile: Task<TileImage?, Never>] = [:]

    package init(source: TileSource, client: ProviderClient, logger: Logger) {
        (self.source, self.client, self.logger) = (source, client, logger)
    }

    /// Runs `body` with a proxy for the configured provider, and closes the provider's connections afterwards.
    ///
    /// - Throws: `InvalidProviderSetting`, and what `body` throws.
    package static func with<Result: Sendable>(
        _ settings: TileSettings?, _ logger: Logger, _ body: (TileProxy?) async throws -> Result
    ) async throws -> Result {
        guard let settings else { return try await body(nil) }
        let client = try ProviderClient(authorities: settings.authorities)
        do {
            let result = try await body(TileProxy(source: settings.source, client: client, logger: logger))
            await client.shutdown()
            return result
        } catch {
            await client.shutdown()
            throw error
        }
    }

    /// The number of requests to the provider in progress.
    var requestsInProgress: Int { self.requests.count }

    /// Returns a tile.
    ///
    /// - Returns: `nil` if the tile does not exist or is currently unavailable.
    func image(of tile: Tile) async -> TileImage? {
        let now = NIODeadline.now().uptimeNanoseconds
        if let known = self.cache.entry(tile, now: now) { return known.image }
        if let request = self.requests[tile] { return await request.value }
        guard self.requests.count < Self.maxConcurrentRequests, self.mayAsk(now: now) else { return nil }
        // An unstructured task, because other clients may wait for the tile after the first one has disconnected. It ends
        // within `ProviderClient.longestWait`.
        let request = Task { await self.requestImage(of: tile) }
        self.requests[tile] = request
        return await request.value
    }

    /// The rate limit comes before `mayAsk`: a trial that the circuit breaker permits has to be sent.
    private func mayAsk(now: UInt64) -> Bool {
        !self.breaker.isOpen(now: now) && self.rate.take(at: now) && self.breaker.mayAsk(now: now)
    }

    private func requestImage(of tile: Tile) async -> TileImage? {
        defer { self.requests[tile] = nil }
        do throws(ProviderFailure) {
            let image = try self.source.image(try await self.client.ask(self.source.request(tile)))
            self.breaker.succeeded()
            self.cache.insert(image, of: tile, now: NIODeadline.now().uptimeNanoseconds)
            return image
        } catch {
            let now = NIODeadline.now().uptimeNanoseconds
            let hasOpened = self.breaker.failed(error, now: now)
            if error == .noPlace { self.cache.insert(nil, of: tile, now: now) }
            if hasOpened {
                self.logger.log(
                    level: error.needsOperator ? .error : .warning, "tile provider unavailable",
                    metadata: [LogKey.provider: "tiles", LogKey.reason: "\(error)"])
            }
            return nil
        }
    }
}
