// The version of the gateway, its documents and both client libraries, which are released together. package.json of JavaScript,
// openapi.json and asyncapi.json repeat it; a test compares them.

package enum EnrouteVersion {
    package static let current = "0.1.0"
}
