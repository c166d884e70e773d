// The faults that the stage's buttons cause, one at a time. All are real. Each button says what to expect, then what was
// measured. DemoFaultActions.swift causes and measures them.

import Access
import EnrouteClient
import EnrouteWire
import Foundation
import HTTPValues
import Journeys
import Synchronization

/// The faults that buttons of the stage cause.
enum DemoFault: String, CaseIterable, Sendable {
    case gateway, redis, tunnel, jump, phone, permission

    var title: String {
        switch self {
        case .gateway: "Kill a gateway"
        case .redis: "Restart Redis"
        case .tunnel: "Drive into a tunnel"
        case .jump: "Make GPS jump"
        case .phone: "Use a second phone"
        case .permission: "Deny location access"
        }
    }

    var expectation: String {
        switch self {
        case .gateway: "Kills the one that serves the customer. Followers are back within 3 s."
        case .redis: "Kills both. Nobody is disconnected, and locations arrive again within 5 s."
        case .tunnel:
            "Cuts the rider off for 20 s. The phone says so; the customer keeps the last place."
        case .jump: "Three readings 3 km away. The customer sees none of them."
        case .phone: "The same rider reports from another place. The customer keeps seeing this phone."
        case .permission:
            "Denies location access for 40 s. The desk knows within 2 s; the customer sees why after 30 s."
        }
    }

    /// Whether your rider has to be on the way.
    var needsRide: Bool { self != .gateway && self != .redis }
}

/// Causes faults. Thread-safe.
final class DemoFaults: Sendable {
    /// The contents of a button.
    struct Report: Encodable, Sendable {
        var id: String
        var title: String
        var expectation: String
        var isPossible: Bool
        var isRunning: Bool
        /// The last measurement; `nil` before the first.
        var result: String?
    }

    private struct State {
        var running: DemoFault?
        var results: [DemoFault: String] = [:]
    }

    let controls: DemoControls
    let follower: DemoFollower
    let orders: DemoOrders
    let redis: [DemoProcess]
    let gateways: [DemoProcess]
    let relay: DemoRelay
    /// The port through which the rider's page connects.
    let riderDoor: DemoDoor
    let socket: String
    let trust: ServerTrust

    private let state = Mutex(State())
    private let requests: AsyncStream<DemoFault>
    private let request: AsyncStream<DemoFault>.Continuation

    init(
        controls: DemoControls, follower: DemoFollower, orders: DemoOrders, redis: [DemoProcess],
        gateways: [DemoProcess], relay: DemoRelay, riderDoor: DemoDoor, socket: String, trust: ServerTrust
    ) {
        (self.controls, self.follower, self.orders) = (controls, follower, orders)
        (self.redis, self.gateways, self.relay, self.riderDoor) = (redis, gateways, relay, riderDoor)
        (self.socket, self.trust) = (socket, trust)
        (self.requests, self.request) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    /// Requests a fault.
    ///
    /// - Returns: `false` if another one is running, or this one is impossible at the moment.
    func cause(_ fault: DemoFault) -> Bool {
        guard self.isPossible(fault) else { return false }
        let isFree = self.state.withLock { state in
            guard state.running == nil else { return false }
            state.running = fault
            return true
        }
        if isFree { self.request.yield(fault) }
        return isFree
    }

    private func isPossible(_ fault: DemoFault) -> Bool {
        if fault == .gateway { return self.relay.ports.count == self.gateways.count }
        return !fault.needsRide || self.controls.order?.isUnderway == true
    }

    var reports: [Report] {
        let (running, results) = self.state.withLock { ($0.running, $0.results) }
        return DemoFault.allCases.map { fault in
            Report(
                id: fault.rawValue, title: fault.title, expectation: fault.expectation,
                isPossible: running == nil && self.isPossible(fault), isRunning: running == fault,
                result: results[fault])
        }
    }

    /// Causes the requested faults until the task is cancelled.
    func run() async throws {
        for await fault in self.requests {
            let result: String
            do { result = try await self.perform(fault) } catch {
                if Task.isCancelled { return }
                result = "It could not be measured: \(error)"
            }
            // An interrupted fault may have left changes behind.
            self.riderDoor.restore()
            self.controls.receiver = .works
            self.state.withLock { ($0.running, $0.results[fault]) = (nil, result) }
        }
    }
}
