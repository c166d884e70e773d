// Tiles for the pages' map, asked for by the gateway: the service's key stays here, and the service learns of nobody who looks
// at the map. Each tile is asked for once however many want it; a service that fails is left alone for a while, and the map
// goes on without.

internal import Fanout
package import Logging
internal import NIOCore
package import Routing
internal import Telemetry

/// Which tiles there are.
package struct TileSettings: Sendable {
    package var source: TileSource
    /// Who made them, as is to be said on the map.
    package var attribution: String
    /// PEM file of who may vouch for the service; `nil` for the system's authorities.
    package var authorities: String?

    package init(source: TileSource, attribution: String, authorities: String? = nil) {
        (self.source, self.attribution, self.authorities) = (source, attribution, authorities)
    }
}

/// The tiles of one gateway.
package actor TileProxy {
    /// Of all tiles that are kept, bytes.
    static let mostBytes = 33_554_432
    /// Questions to the service at the same time.
    static let mostQuestions = 32
    /// Questions to the service, of all who look at maps through this gateway: what it costs has a bound.
    static let questionsPerSecond = 100
    static let questionBurst = 1000

    private let source: TileSource
    private let client: ProviderClient
    private let logger: Logger
    private var cache = TileCache(mostBytes: TileProxy.mostBytes)
    private var breaker = CircuitBreaker()
    private var rate = TokenBucket(perSecond: TileProxy.questionsPerSecond, burst: TileProxy.questionBurst)
    private var questions: [Tile: Task<TileImage?, Never>] = [:]

    package init(source: TileSource, client: ProviderClient, logger: Logger) {
        (self.source, self.client, self.logger) = (source, client, logger)
    }

    /// Runs `body` with the tiles that are configured, and closes their connections however it ends.
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

    /// Questions to the service that are under way.
    var asking: Int { self.questions.count }

    /// - Returns: `nil` where there is none, or none at the moment.
    func image(of tile: Tile) async -> TileImage? {
        let now = NIODeadline.now().uptimeNanoseconds
        if let known = self.cache.entry(tile, now: now) { return known.image }
        if let question = self.questions[tile] { return await question.value }
        guard self.questions.count < Self.mostQuestions, self.breaker.mayAsk(now: now), self.rate.take(at: now) else {
            return nil
        }
        // Whoever asked first may be gone before the others have their tile: so it is nobody's, and ends by itself within
        // `ProviderClient.longestWait`.
        let question = Task { await self.ask(tile) }
        self.questions[tile] = question
        return await question.value
    }

    private func ask(_ tile: Tile) async -> TileImage? {
        defer { self.questions[tile] = nil }
        do throws(ProviderFailure) {
            let image = try self.source.image(try await self.client.ask(self.source.request(tile)))
            self.breaker.succeeded()
            self.cache.keep(image, of: tile, now: NIODeadline.now().uptimeNanoseconds)
            return image
        } catch {
            let now = NIODeadline.now().uptimeNanoseconds
            self.breaker.failed(error, now: now)
            if error == .noPlace {
                self.cache.keep(nil, of: tile, now: now)
            } else if self.breaker.isOpen(now: now) {
                // Once for each time that it is left alone.
                self.logger.log(
                    level: error.needsSomebody ? .error : .warning, "tile provider unavailable",
                    metadata: [LogKey.provider: "tiles", LogKey.reason: "\(error)"])
            }
            return nil
        }
    }
}
