// A gateway in the process of a test: it speaks the protocol over a `Transport` without a network, and follows the test's
// script.

public import Enroute
public import Foundation

/// A gateway without a network, for tests and previews of an app.
///
/// ```swift
/// let gateway = FakeGateway()
/// await gateway.addJob("order-1", status: .onTheWay)
/// let client = EnrouteClient(await gateway.configuration)
/// ```
public actor FakeGateway: Transport {
    /// The maximum number of messages in `received`. More drop the oldest ones.
    public static let mostReceived = 1_000

    private var jobs: [JobID: FakeJob] = [:]
    private var sockets: [Int: FakeSocket] = [:]
    private var subscriptions: [Int: Set<JobID>] = [:]
    private var lastSocket = 0
    private var isReachable = true
    private var isFrozen = false
    private var withheld: [(FakeSocket, String)] = []
    private var refusals: [String: EnrouteError] = [:]
    private var clock = 1_795_248_617_000
    /// The gateway's clock minus this device's clock, in seconds.
    private var clockSkew: TimeInterval = 0
    /// Messages of all clients, oldest first, as JSON.
    public private(set) var received: [String] = []
    /// The number of sockets that were opened.
    public private(set) var connections = 0

    public init() {}

    /// A configuration that connects to this gateway.
    public var configuration: EnrouteClient.Configuration {
        EnrouteClient.Configuration(gateway: URL(string: "https://fake.example")!, transport: self) { .token("fake") }
    }

    // MARK: the script

    /// Adds a job that every client may follow.
    public func addJob(
        _ id: JobID, kind: JobKind = .service, status: JobStatus = .assigned, destination: Place? = nil
    ) {
        self.clock += 1_000
        self.jobs[id] = FakeJob(kind: kind, status: status, at: self.clock, destination: destination)
    }

    /// Changes the status of a job.
    public func setStatus(of id: JobID, to status: JobStatus) {
        self.clock += 1_000
        guard let event = self.jobs[id]?.append(status, at: self.clock) else { return }
        self.publish(event, about: id, type: "status")
    }

    /// Publishes a location of a job, as if its rider had reported it.
    public func move(_ id: JobID, to place: Place, accuracy: Double = 5) {
        self.clock += 1_000
        guard let location = self.jobs[id]?.move(to: place, accuracy: accuracy, at: self.clock) else { return }
        self.publish(location, about: id, type: "location")
    }

    /// Plays a trip, one location after the other without pauses.
    public func play(_ trip: [Place], for id: JobID) { for place in trip { self.move(id, to: place) } }

    /// Changes whether the position is shown, for example to `paused`.
    public func setTracking(of id: JobID, to tracking: JobView.Tracking) {
        self.jobs[id]?.setTracking(tracking.rawValue)
        self.publish(["state": tracking.rawValue, "text": tracking.rawValue], about: id, type: "tracking")
    }

    /// Publishes an arrival time.
    public func setArrival(of id: JobID, in seconds: TimeInterval) {
        let now = Date().addingTimeInterval(self.clockSkew).timeIntervalSince1970
        let eta: [String: Any] = [
            "state": "ok", "at": Int(now * 1000), "arrivesAt": Int((now + seconds) * 1000), "seconds": Int(seconds),
            "confidence": "medium",
        ]
        self.publish(eta, about: id, type: "eta")
    }

    /// Ends the subscriptions to a job, with a reason.
    public func end(_ id: JobID, reason: EndReason) {
        self.publish(["reason": reason.rawValue], about: id, type: "ended")
        self.jobs[id] = nil
    }

    /// Starts the record of a job's statuses again, as after a data loss.
    public func loseLog(of id: JobID) {
        self.jobs[id]?.startAgain()
        guard let snapshot = self.jobs[id]?.snapshot(since: nil) else { return }
        self.publish(["snapshot": snapshot], about: id, type: "reset")
    }

    /// Closes all sockets. Without a code, they end without a close frame.
    public func disconnect(code: UInt16? = nil, reason: String = "") {
        for socket in self.sockets.values { socket.end(code: code, reason: reason) }
        self.sockets = [:]
        self.subscriptions = [:]
    }

    /// Asks all clients to reconnect after this time, and closes their sockets with 4000.
    public func goAway(retryIn delay: Duration) {
        self.sendToAll(["type": "goaway", "retryInMs": delay.components.seconds * 1000])
        self.disconnect(code: 4000, reason: "going away")
    }

    /// Keeps all sockets open and answers nothing, until `thaw()`.
    public func freeze() { self.isFrozen = true }

    public func thaw() {
        self.isFrozen = false
        for (socket, text) in self.withheld { socket.deliver(text) }
        self.withheld = []
    }

    /// Whether new connections and requests reach the gateway.
    public func setReachable(_ isReachable: Bool) { self.isReachable = isReachable }

    /// Sets the gateway's clock ahead of this device's.
    public func setClock(aheadBy seconds: TimeInterval) { self.clockSkew = seconds }

    /// Refuses the next message of this type, such as `travel`.
    public func refuseNext(_ type: String, with error: EnrouteError) { self.refusals[type] = error }

    /// Asks riders to report at this interval.
    public func setPace(_ interval: Duration) {
        self.sendToAll(["type": "rate", "intervalSeconds": interval.components.seconds])
    }

    // MARK: the transport

    public func connect(to url: URL, subprotocol: String) async throws -> any TransportSocket {
        guard self.isReachable else { throw TransportError("The fake gateway is unreachable.") }
        self.lastSocket += 1
        self.connections += 1
        let socket = FakeSocket(id: self.lastSocket, gateway: self)
        self.sockets[self.lastSocket] = socket
        return socket
    }

    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard self.isReachable else { throw TransportError("The fake gateway is unreachable.") }
        let path = request.url.path.split(separator: "/").map(String.init)
        // api v1 jobs <job> locations
        guard request.method == "POST", path.count == 5, path[4] == "locations", let job = JobID(path[3]) else {
            return TransportResponse(status: 404, body: Data(#"{"code":"not_found"}"#.utf8))
        }
        let report = (try? JSONSerialization.jsonObject(with: request.body ?? Data())) as? [String: Any] ?? [:]
        self.note(String(decoding: request.body ?? Data(), as: UTF8.self))
        let jobs = (report["jobs"] as? [String])?.compactMap { JobID($0) } ?? [job]
        self.report(report, for: jobs)
        let answer: [String: Any] = [
            "job": job.rawValue, "accepted": jobs.map(\.rawValue), "stale": [], "refused": [],
            "serverTime": self.serverTime,
        ]
        return TransportResponse(status: 200, body: try JSONSerialization.data(withJSONObject: answer))
    }

    func closed(_ socket: Int) {
        self.sockets[socket] = nil
        self.subscriptions[socket] = nil
    }

    func received(_ text: String, from socket: FakeSocket) {
        self.note(text)
        guard let message = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any],
            let type = message["type"] as? String
        else { return }
        let job = (message["job"] as? String).flatMap { JobID($0) }
        if let error = self.refusals.removeValue(forKey: type) {
            return self.answer(message, "error", error.members, to: socket)
        }
        switch type {
        case "auth":
            self.send(
                ["type": "welcome", "session": "fake", "serverTime": self.serverTime, "pingIntervalSeconds": 25],
                to: socket)
        case "ping": self.send(["type": "pong", "serverTime": self.serverTime], to: socket)
        case "subscribe":
            guard let job, let snapshot = self.jobs[job]?.snapshot(since: message["since"] as? [String: Any]) else {
                let error = EnrouteError(.notFound, "There is no such job, or you have no access to it.")
                return self.answer(message, "error", error.members, to: socket)
            }
            self.subscriptions[socket.id, default: []].insert(job)
            let type = self.jobs[job]?.answerType(since: message["since"] as? [String: Any]) ?? "subscribed"
            self.send(["type": type, "job": job.rawValue, "snapshot": snapshot], to: socket)
        case "unsubscribe":
            if let job { self.subscriptions[socket.id]?.remove(job) }
            self.answer(message, "ok", [:], to: socket)
        case "location":
            let jobs = (message["jobs"] as? [String])?.compactMap { JobID($0) } ?? [job].compactMap(\.self)
            self.report(message, for: jobs)
            for job in jobs {
                self.answer(message, "ok", ["seq": message["seq"] ?? 0, "job": job.rawValue], to: socket)
            }
        case "travel": self.answer(message, "ok", ["deadline": self.clock + 14_400_000], to: socket)
        default: self.answer(message, "ok", [:], to: socket)
        }
    }

    // MARK: parts

    /// ms since the epoch.
    private var serverTime: Int { Int(Date().addingTimeInterval(self.clockSkew).timeIntervalSince1970 * 1000) }

    private func report(_ report: [String: Any], for jobs: [JobID]) {
        guard let newest = (report["fixes"] as? [[String: Any]])?.first, let latitude = newest["lat"] as? Double,
            let longitude = newest["lon"] as? Double
        else { return }
        for job in jobs { self.move(job, to: Place(latitude: latitude, longitude: longitude)) }
    }

    private func note(_ text: String) {
        self.received.append(text)
        if self.received.count > Self.mostReceived { self.received.removeFirst() }
    }

    private func publish(_ members: [String: Any], about job: JobID, type: String) {
        let message = members.merging(["type": type, "job": job.rawValue]) { _, new in new }
        for (id, socket) in self.sockets where self.subscriptions[id]?.contains(job) == true {
            self.send(message, to: socket)
        }
    }

    private func answer(_ request: [String: Any], _ type: String, _ more: [String: Any], to socket: FakeSocket) {
        var message = more
        (message["type"], message["replyTo"]) = (type, request["type"])
        for name in ["ref", "job", "zone"] where message[name] == nil { message[name] = request[name] }
        self.send(message, to: socket)
    }

    private func sendToAll(_ message: [String: Any]) {
        for socket in self.sockets.values { self.send(message, to: socket) }
    }

    private func send(_ message: [String: Any], to socket: FakeSocket) {
        guard let data = try? JSONSerialization.data(withJSONObject: message) else { return }
        let text = String(decoding: data, as: UTF8.self)
        if self.isFrozen { self.withheld.append((socket, text)) } else { socket.deliver(text) }
    }
}

extension EnrouteError {
    fileprivate var members: [String: Any] {
        var members: [String: Any] = [
            "code": self.code.rawValue, "message": self.message, "retry": self.isRetryable,
        ]
        if !self.tasks.isEmpty { members["tasks"] = self.tasks.map(\.rawValue) }
        if let retryAfter { members["retryInMs"] = retryAfter.components.seconds * 1000 }
        return members
    }
}
