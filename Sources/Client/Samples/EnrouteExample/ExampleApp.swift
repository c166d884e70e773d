// An iOS app that follows an order and reports as its rider. Add the package to a new Xcode project, replace the
// project's sources with this file, and set NSLocationWhenInUseUsageDescription and the background mode `location`.

import Enroute
import EnrouteLocation
import EnrouteUI
import SwiftUI

/// Replace both with your own.
private let gateway = URL(string: "https://track.example")!
private func signIn() async throws -> String { "a token of your sign-in service" }

@main struct ExampleApp: App {
    private let client = EnrouteClient(gateway: gateway) { .token(try await signIn()) }

    var body: some Scene {
        WindowGroup { OrderScreen(client: self.client) }
    }
}

struct OrderScreen: View {
    let client: EnrouteClient
    @State private var order = TrackedJob("order-1")
    @State private var rider: LocationReporter?
    @State private var permission = PermissionFlow.Phase.off
    @State private var isTraveling = false
    @Environment(\.scenePhase) private var phase

    var body: some View {
        VStack(alignment: .leading, spacing: 16) {
            JobTrackingView(self.order, client: self.client)
            Button(self.isTraveling ? "Stop travel mode" : "Start travel mode") { self.travel() }
            if self.permission == .explaining {
                Text("Travel mode shows your customer where you are, only for this order.")
                Button("Continue") { self.rider?.consent() }
            }
            if self.permission == .refused || self.permission == .revoked {
                Text("Location is blocked. Allow it in the settings of this app.")
            }
        }
        .task {
            await self.client.start()
            await self.client.followNetwork()
        }
        .onChange(of: self.phase) { _, phase in
            let client = self.client
            Task { if phase == .background { await client.enterBackground() } else { await client.wake() } }
        }
    }

    private func travel() {
        let (client, job, isStarting) = (self.client, self.order.id, !self.isTraveling)
        let rider = self.rider ?? LocationReporter(rider: client.rider)
        rider.onPhase = { self.permission = $0 }
        self.rider = rider
        Task {
            do {
                if isStarting {
                    try await client.rider.startTravel(job)
                    rider.start(for: [job])
                } else {
                    rider.stop()
                    try await client.rider.stopTravel(job)
                }
                self.isTraveling = isStarting
            } catch {
                print(error)
            }
        }
    }
}
