// Messages from the gateway, in the form in which they are sent. An unknown message is `unknown`, and unknown members are
// ignored, so a newer gateway does not break an older app.

import Foundation

/// A message of the gateway.
enum ServerMessage: Sendable {
    case welcome(serverTime: Double, WireLimits? = nil)
    case pong(serverTime: Double)
    case degraded
    case restored
    case goaway(retryInMs: Double)
    case subscribed(JobID, WireSnapshot)
    case reset(JobID, WireSnapshot)
    case status(JobID, WireStatus)
    case location(JobID, WireLocation)
    case tracking(JobID, WireTracking)
    case eta(JobID, WireArrival)
    case unavailable(JobID, text: String?)
    case proximity(JobID, JobView.Proximity)
    case ended(JobID, EndReason)
    case rate(intervalSeconds: Double)
    case pool(zone: String, WirePool)
    case rider(zone: String, WirePoolChange)
    case ok(WireOk)
    case error(WireError)
    case unknown

    /// Returns `nil` for text that is not a message.
    init?(text: String) {
        guard let message = try? JSONDecoder().decode(Envelope.self, from: Data(text.utf8)).message else { return nil }
        self = message
    }

    private struct Envelope: Decodable {
        let message: ServerMessage

        private enum Key: String, CodingKey {
            case type, job, zone, serverTime, limits, retryInMs, snapshot, text, state, reason, intervalSeconds
        }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Key.self)
            func job() throws -> JobID { try members.decode(JobID.self, forKey: .job) }
            func zone() throws -> String { try members.decode(String.self, forKey: .zone) }
            switch try members.decode(String.self, forKey: .type) {
            case "welcome":
                // The client can do without the limits.
                let limits = try? members.decode(WireLimits.self, forKey: .limits)
                self.message = .welcome(serverTime: try members.decode(Double.self, forKey: .serverTime), limits)
            case "pong": self.message = .pong(serverTime: try members.decode(Double.self, forKey: .serverTime))
            case "degraded": self.message = .degraded
            case "restored": self.message = .restored
            case "goaway": self.message = .goaway(retryInMs: try members.decode(Double.self, forKey: .retryInMs))
            case "subscribed":
                self.message = .subscribed(try job(), try members.decode(WireSnapshot.self, forKey: .snapshot))
            case "reset": self.message = .reset(try job(), try members.decode(WireSnapshot.self, forKey: .snapshot))
            case "status": self.message = .status(try job(), try WireStatus(from: decoder))
            case "location": self.message = .location(try job(), try WireLocation(from: decoder))
            case "tracking": self.message = .tracking(try job(), try WireTracking(from: decoder))
            case "eta": self.message = .eta(try job(), try WireArrival(from: decoder))
            case "unavailable":
                self.message = .unavailable(try job(), text: try members.decodeIfPresent(String.self, forKey: .text))
            case "proximity":
                let state = try members.decode(String.self, forKey: .state)
                self.message = try JobView.Proximity(rawValue: state).map { .proximity(try job(), $0) } ?? .unknown
            case "ended": self.message = .ended(try job(), try members.decode(EndReason.self, forKey: .reason))
            case "rate":
                self.message = .rate(intervalSeconds: try members.decode(Double.self, forKey: .intervalSeconds))
            case "pool": self.message = .pool(zone: try zone(), try WirePool(from: decoder))
            case "rider": self.message = .rider(zone: try zone(), try WirePoolChange(from: decoder))
            case "ok": self.message = .ok(try WireOk(from: decoder))
            case "error": self.message = .error(try WireError(from: decoder))
            default: self.message = .unknown
            }
        }
    }

    /// The job that the message concerns; `nil` if it does not concern a job that can be followed.
    var followedJob: JobID? {
        switch self {
        case .subscribed(let job, _), .reset(let job, _), .status(let job, _), .location(let job, _),
            .tracking(let job, _), .eta(let job, _), .unavailable(let job, _), .proximity(let job, _),
            .ended(let job, _):
            job
        default: nil
        }
    }
}

/// The limits of a connection that the client keeps to.
struct WireLimits: Decodable, Sendable {
    let messagesPerSecond: Double?
    let messagesBurst: Double?
}

struct WirePool: Decodable, Sendable {
    struct Rider: Decodable, Sendable {
        let rider: String
        let heartbeat: Double?
    }

    let version: Int64
    let riders: [Rider]?
    let count: Int?
    let changes: [WirePoolChange]?
}

struct WirePoolChange: Decodable, Sendable {
    let version: Int64
    let rider: String
    let change: String
    let available: Bool
    let tasks: Int?
    let capacity: Int?
    let job: JobID?
    let at: Double?
}

struct WireOk: Decodable, Sendable {
    let replyTo: String
    let ref: String?
    let job: JobID?
    let seq: Int64?
    let deadline: Double?
}

struct WireError: Decodable, Sendable {
    let replyTo: String?
    let ref: String?
    let job: JobID?
    let zone: String?
    let code: String
    let message: String?
    let retry: Bool?
    let retryInMs: Double?
    let reason: String?
    let tasks: [JobID]?

    var error: EnrouteError {
        EnrouteError(
            EnrouteError.Code(rawValue: self.code), self.message ?? self.code, isRetryable: self.retry ?? false,
            retryAfter: self.retryInMs.map { Duration(ms: $0) }, tasks: self.tasks ?? [], reason: self.reason)
    }
}
