// Messages from the client to the gateway, with the bytes of the golden files (Tests/EnrouteWireTests/Golden/client).

/// A message to the gateway.
enum ClientMessage: Hashable, Sendable {
    case auth(Credential)
    case refresh(token: String)
    case subscribe(JobID, since: StatusCursor?)
    case unsubscribe(JobID)
    case travel(JobID, isActive: Bool, device: String? = nil, resumes: Bool = false)
    case location(LocationReport)
    case availability(Availability, device: String?)
    case presence(Place?, device: String?)
    case unavailable(UnavailableReason, JobID?)
    case watch(zone: String, since: Int64?)
    case unwatch(zone: String)
    case ping

    /// - Parameter ref: repeated in the answer, to match answers to requests.
    func text(ref: Int? = nil) -> String {
        var object = JSONObject()
        switch self {
        case .auth(.token(let token)):
            object.add("type", "auth")
            object.add("token", token)
        case .auth(.trackingLink(let link)):
            object.add("type", "auth")
            object.add("link", link)
        case .refresh(let token):
            object.add("type", "refresh")
            object.add("token", token)
        case .subscribe(let job, let since):
            object.add("type", "subscribe")
            object.add("job", job.rawValue)
            if let since {
                var place = JSONObject()
                place.add("epoch", since.epoch)
                place.add("id", since.id)
                object.add("since", raw: place.text)
            }
        case .unsubscribe(let job):
            object.add("type", "unsubscribe")
            object.add("job", job.rawValue)
        case .travel(let job, let isActive, let device, let resumes):
            object.add("type", "travel")
            object.add("job", job.rawValue)
            object.add("active", isActive)
            object.add("device", device)
            if resumes { object.add("resume", true) }
        case .location(let report): report.write(to: &object)
        case .availability(let status, let device):
            object.add("type", "availability")
            object.add("status", status.rawValue)
            object.add("device", device)
        case .presence(let place, let device):
            object.add("type", "presence")
            if let place, place.isValid {
                object.add("lat", place.latitude)
                object.add("lon", place.longitude)
            }
            object.add("device", device)
        case .unavailable(let reason, let job):
            object.add("type", "unavailable")
            object.add("job", job?.rawValue)
            object.add("reason", reason.rawValue)
        case .watch(let zone, let since):
            object.add("type", "watch")
            object.add("zone", zone)
            object.add("since", since)
        case .unwatch(let zone):
            object.add("type", "unwatch")
            object.add("zone", zone)
        case .ping: object.add("type", "ping")
        }
        if let ref { object.add("ref", String(ref)) }
        return object.text
    }
}

/// One report of a rider: the newest readings, newest first.
struct LocationReport: Hashable, Sendable {
    var jobs: [JobID]
    var sequence: Int64
    var fixes: [ReportedFix]
    var battery: Double?

    func write(to object: inout JSONObject) {
        object.add("type", "location")
        if self.jobs.count == 1 {
            object.add("job", self.jobs[0].rawValue)
        } else {
            object.add("jobs", self.jobs.map { JSONObject.quoted($0.rawValue) })
        }
        self.writeReadings(to: &object)
    }

    /// The body of `POST jobs/{job}/locations`.
    func body(device: String) -> String {
        var object = JSONObject()
        object.add("device", device)
        if self.jobs.count > 1 { object.add("jobs", self.jobs.map { JSONObject.quoted($0.rawValue) }) }
        self.writeReadings(to: &object)
        return object.text
    }

    private func writeReadings(to object: inout JSONObject) {
        object.add("seq", self.sequence)
        object.add("fixes", self.fixes.map(\.text))
        object.add("battery", self.battery)
    }
}

/// A reading in the form in which it is sent: with valid ranges, and without unknown members.
struct ReportedFix: Hashable, Sendable {
    /// ms since the epoch.
    var at: Int64
    var latitude: Double
    var longitude: Double
    var accuracy: Double?
    var speed: Double?
    var course: Double?
    var isMocked = false

    var text: String {
        var object = JSONObject()
        object.add("at", self.at)
        object.add("lat", self.latitude)
        object.add("lon", self.longitude)
        object.add("acc", self.accuracy)
        object.add("spd", self.speed)
        object.add("hdg", self.course)
        if self.isMocked { object.add("mock", true) }
        return object.text
    }
}

extension Place {
    /// Whether these are valid coordinates. Receivers report (0, 0) when they have no position.
    var isValid: Bool {
        abs(self.latitude) <= 90 && abs(self.longitude) <= 180 && !(self.latitude == 0 && self.longitude == 0)
    }
}
