// The query and the key for the documented providers of TestSupport.

import EnrouteWire
import TestSupport

@testable import Routing

extension ProviderFixtures {
    static let key = ProviderKey(keyText)!
    static let station = Coordinate(latitude: 48.185, longitude: 16.377)!
    static let door = Coordinate(latitude: 48.2351, longitude: 16.4138)!
    static let between = Coordinate(latitude: 48.2001, longitude: 16.3999)!
    static let question = RouteQuery(places: [station, between, door])!
}

/// Runs `body` with a client.
func withClient<Result: Sendable>(
    longestWait: Duration = .seconds(30), _ body: (ProviderClient) async throws -> Result
) async throws -> Result {
    let client = try ProviderClient(longestWait: longestWait)
    do {
        let result = try await body(client)
        await client.shutdown()
        return result
    } catch {
        await client.shutdown()
        throw error
    }
}
