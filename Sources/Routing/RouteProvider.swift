// One service that knows ways: how it is asked and how its answer is read. No sockets here, so that a test can hold each
// against its documentation.

package protocol RouteProvider: Sendable {
    var source: ArrivalSource { get }
    func request(_ question: RouteQuery) -> ProviderRequest
    func answer(_ response: ProviderResponse) throws(ProviderFailure) -> RouteAnswer
}

/// Why a setting can not be used; says how it should be.
package struct InvalidProviderSetting: Error, Hashable, CustomStringConvertible {
    package let description: String
}
