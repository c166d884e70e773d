// A routing provider: creates its requests and parses its answers. It uses no sockets, so tests can compare it with the
// provider's documentation.

package protocol RouteProvider: Sendable {
    var source: ArrivalSource { get }
    func request(_ question: RouteQuery) -> ProviderRequest
    func answer(_ response: ProviderResponse) throws(ProviderFailure) -> RouteAnswer
}

/// An invalid setting of a provider. The description says what is valid.
package struct InvalidProviderSetting: Error, Hashable, CustomStringConvertible {
    package let description: String
}
