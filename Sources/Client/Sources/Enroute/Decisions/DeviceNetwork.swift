// Whether the device has a network, as far as its system reports. Times are in ms.

struct DeviceNetwork {
    /// After messages have arrived for this time, an offline report of the device is ignored.
    static let offlineDoubtedAfter = 30_000.0

    private var offlineSince: Double?
    private var isBackOnline = false

    var isOffline: Bool { self.offlineSince != nil }

    /// The device reports that it is online. It counts as offline until a message or a new connection proves it.
    mutating func online() { self.isBackOnline = true }

    mutating func offline(at now: Double) { (self.isBackOnline, self.offlineSince) = (false, now) }

    /// Doubts an offline report, because messages keep arriving.
    mutating func messageArrived(at now: Double) {
        guard let offlineSince, self.isBackOnline || now - offlineSince > Self.offlineDoubtedAfter else { return }
        self.offlineSince = nil
    }

    /// Forgets an offline report, because another connection is opened or none is needed.
    mutating func forget() { self.offlineSince = nil }
}
