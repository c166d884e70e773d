// A job that SwiftUI observes: the newest view, the connection, and why following failed.

public import Enroute
public import Observation

/// Follows a job for a screen.
///
/// ```swift
/// @State private var order = TrackedJob("order-1")
/// // .task { await order.follow(client) }
/// ```
@available(iOS 17, macOS 14, watchOS 10, tvOS 17, *)
@MainActor @Observable public final class TrackedJob {
    public let id: JobID
    /// `nil` before the first snapshot.
    public private(set) var view: JobView?
    public private(set) var connection = ConnectionState.stopped
    /// Why the job cannot be followed.
    public private(set) var error: EnrouteError?

    public init(_ id: JobID) { self.id = id }

    /// Whether the view may be outdated.
    public var isUncertain: Bool { TrackedJobRules.isUncertain(self.connection) }

    /// Follows the job until the task is cancelled or the job is over.
    public func follow(_ client: EnrouteClient) async {
        self.error = nil
        let states = Task { for await state in client.connectionStates { self.connection = state } }
        defer { states.cancel() }
        do {
            for try await view in client.job(self.id) { self.view = view }
        } catch {
            self.view = nil
            self.error = error as? EnrouteError ?? EnrouteError(.internal, "\(error)")
        }
    }
}

enum TrackedJobRules {
    static func isUncertain(_ connection: ConnectionState) -> Bool {
        if case .open(isDegraded: false, isSilent: false) = connection { false } else { true }
    }
}
