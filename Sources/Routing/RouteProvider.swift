// A routing provider: creates its requests and parses its answers. It uses no sockets, so tests can compare it with the
// provider's documentation.

/// A routing provider. README.md describes how to add one.
package protocol RouteProvider: Sendable {
    /// The name of the provider in settings, messages, metrics and logs, and of its daily count in Redis. No two
    /// providers have the same.
    var source: ArrivalSource { get }

    /// Whether the provider knows routes for this mode. Otherwise it is not queried.
    func knows(_ mode: TravelMode) -> Bool

    /// Returns the request for the travel time of a route, including the key. `ProviderClient` sends it, with the
    /// header `accept` for JSON and GeoJSON unless the request sets its own.
    func request(_ question: RouteQuery) -> ProviderRequest

    /// Returns the route that a response contains. Called for complete responses with any status, so begin with
    /// `checkStatus`.
    ///
    /// - Throws: `noRoute` if the provider works but there is no route, `malformed` if the body cannot be parsed, and
    ///   what `checkStatus` throws. `RouteChain` then tries the next provider.
    func answer(_ response: ProviderResponse) throws(ProviderFailure) -> RouteAnswer
}

extension RouteProvider {
    package func knows(_ mode: TravelMode) -> Bool { true }
}

/// An invalid setting of a provider. The description says what is valid.
package struct InvalidProviderSetting: Error, Hashable, CustomStringConvertible {
    package let description: String
}
