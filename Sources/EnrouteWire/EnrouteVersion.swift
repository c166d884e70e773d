// The version of everything that is released together: the gateway, its documents and both client libraries. package.json,
// openapi.json and asyncapi.json repeat it, and a test compares them.

package enum EnrouteVersion {
    package static let current = "0.1.0"
}
