// Servers that start and stop in any order within one scope, for tests in which servers die and recover, and for fleets. With
// `RedisServer.running`, each server must stop before the one around it.

package import Embedded

private import NIOCore
private import NIOPosix

/// A scope for servers. Servers still running at its end are killed and have exited when `running` returns.
package struct Servers: Sendable {
    private let begun: AsyncStream<Life>.Continuation

    package static func running<Result: Sendable>(
        _ body: (Servers) async throws -> Result
    ) async throws -> Result {
        let (lives, begun) = AsyncStream.makeStream(of: Life.self)
        return try await withTaskGroup(of: Void.self) { group in
            group.addTask { await Self.host(lives) }
            let result: Swift.Result<Result, any Error>
            do {
                result = .success(try await body(Servers(begun: begun)))
            } catch {
                result = .failure(error)
            }
            begun.finish()
            await group.waitForAll()
            return result
        }.get()
    }

    private static func host(_ lives: AsyncStream<Life>) async {
        await withDiscardingTaskGroup { group in
            var all: [Life] = []
            for await life in lives {
                all.append(life)
                group.addTask { await life.last() }
            }
            for life in all { life.toEnd.succeed() }
        }
    }

    /// Starts a server, which is ready when this returns. Only within the scope.
    ///
    /// - Parameter words: the complete command line of redis-server.
    /// - Throws: `RedisServer.Failure`.
    package func start(in folder: String, words: [String]) async throws -> Life {
        let life = Life(folder: folder, words: words, eventLoop: MultiThreadedEventLoopGroup.singleton.next())
        self.begun.yield(life)
        _ = try await life.server
        return life
    }

    /// One server, from start to end.
    package struct Life: Sendable {
        private let folder: String
        private let words: [String]
        private let started: EventLoopPromise<RedisServer>
        fileprivate let toEnd: EventLoopPromise<Void>
        private let ended: EventLoopPromise<Void>

        fileprivate init(folder: String, words: [String], eventLoop: any EventLoop) {
            (self.folder, self.words) = (folder, words)
            self.started = eventLoop.makePromise()
            self.toEnd = eventLoop.makePromise()
            self.ended = eventLoop.makePromise()
        }

        package var server: RedisServer {
            get async throws { try await self.started.futureResult.get() }
        }

        /// Kills it; it has exited when this returns.
        package func end() async {
            self.toEnd.succeed()
            try? await self.ended.futureResult.get()
        }

        fileprivate func last() async {
            do {
                try await RedisServer.running(in: self.folder, words: self.words) { server in
                    self.started.succeed(server)
                    try await self.toEnd.futureResult.get()
                }
            } catch {
                self.started.fail(error)
            }
            // For a server that exited by itself, or never started.
            self.toEnd.succeed()
            self.ended.succeed()
        }
    }
}
