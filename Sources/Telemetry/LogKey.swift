// The register of log metadata keys. Log statements use these constants, so one concept has one key and a search for the
// key finds every statement. Positions and tokens are never logged.

/// Keys of log metadata.
package enum LogKey {
    package static let address = "address"
    package static let certificate = "certificate"
    package static let code = "code"
    package static let command = "command"
    package static let connections = "connections"
    package static let count = "count"
    package static let gateway = "gateway"
    package static let job = "job"
    package static let key = "key"
    package static let kind = "kind"
    package static let origin = "origin"
    package static let path = "path"
    package static let peer = "peer"
    package static let port = "port"
    package static let provider = "provider"
    package static let reason = "reason"
    package static let redis = "redis"
    package static let rider = "rider"
    package static let role = "role"
    package static let route = "route"
    package static let seconds = "seconds"
    package static let session = "session"
    package static let sessions = "sessions"
    package static let status = "status"
    package static let topic = "topic"
    package static let trace = "trace"
    package static let zone = "zone"
}
