// A screen that follows a job, as a starting point: status, steps, arrival and connection. The map is the app's own.

#if canImport(SwiftUI)
    public import Enroute
    internal import Foundation
    public import SwiftUI

    /// Shows a job: its status, its steps, when the rider arrives, and whether the connection is lost.
    @available(iOS 17, macOS 14, watchOS 10, tvOS 17, *)
    public struct JobTrackingView: View {
        private let job: TrackedJob
        private let client: EnrouteClient

        public init(_ job: TrackedJob, client: EnrouteClient) { (self.job, self.client) = (job, client) }

        public var body: some View {
            VStack(alignment: .leading, spacing: 12) {
                if self.job.isUncertain { Text("Connecting…").foregroundStyle(.secondary) }
                if let view = self.job.view {
                    Text(view.status.rawValue.replacingOccurrences(of: "_", with: " ").capitalized).font(.title)
                    Text(Self.text(ArrivalPhrase(view)))
                    ForEach(view.steps, id: \.status) { step in
                        Label(
                            step.status.rawValue,
                            systemImage: step.state == .complete ? "checkmark.circle.fill" : "circle")
                    }
                } else if let error = self.job.error {
                    Text(error.code == .notFound ? "We can’t find this order or visit." : "Following failed.")
                }
            }
            .task { await self.job.follow(self.client) }
        }

        private static func text(_ phrase: ArrivalPhrase) -> String {
            switch phrase {
            case .none: ""
            case .now: "Arriving now"
            case .within(let minutes): "Arriving in \(minutes) min"
            case .at(let date): "Arriving at \(date.formatted(date: .omitted, time: .shortened))"
            case .recalculating: "ETA recalculating…"
            case .unavailable: "ETA unavailable"
            case .afterStop: "After another stop"
            }
        }
    }
#endif
