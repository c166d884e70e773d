// A stub of ActivityKit with the parts that EnrouteUI uses, so that its code can be type-checked on Linux. It does
// nothing.

public protocol ActivityAttributes: Decodable, Encodable {
    associatedtype ContentState: Decodable, Encodable, Hashable
}
