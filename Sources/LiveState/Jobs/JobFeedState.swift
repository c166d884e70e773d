// The feed of a job as the live instance stores it: who shares a position and until when, and what was published last.

package import EnrouteWire
internal import Redis

extension JobFeed {
    /// The feed at one moment.
    package struct State: Sendable, Hashable {
        /// The rider who shares their position; `nil` while the feed is closed.
        package var rider: PersonID?
        /// The deadline, ms since the epoch.
        package var deadline: Int64?
        /// The last position as it was published; `nil` while the feed is closed.
        package var position: [UInt8]?
        /// The last published arrival time; `nil` while the feed is closed.
        package var eta: ArrivalEstimate?

        package var isOpen: Bool { self.rider != nil }
        /// The feed was explicitly closed. `false` when Redis has no entry, which also happens after it lost its data.
        package var isClosed = false

        package init(
            rider: PersonID? = nil, deadline: Int64? = nil, position: [UInt8]? = nil, eta: ArrivalEstimate? = nil
        ) {
            self.rider = rider
            self.deadline = deadline
            self.position = position
            self.eta = eta
        }
    }

    /// `<fence> <deadline> <rider> <device>`, as open_feed, publish_location and close_feed write it. The device is
    /// missing if the next one to report becomes the reporter.
    package struct Travel: Sendable, Hashable {
        package let fence: Int64
        /// ms since the epoch
        package let deadline: Int64
        /// `nil` once travel mode was switched off.
        package let rider: PersonID?
        /// The device that reports; `nil` if the next one may.
        package let reporter: Reporter?

        package init(fence: Int64, deadline: Int64, rider: PersonID?, reporter: Reporter? = nil) {
            (self.fence, self.deadline, self.rider, self.reporter) = (fence, deadline, rider, reporter)
        }

        init?(_ value: RESPValue) {
            let parts = value.text?.split(separator: " ", omittingEmptySubsequences: false) ?? []
            guard (3...4).contains(parts.count), let fence = parts[0].fence, let deadline = parts[1].timestamp,
                let rider = optional(String(parts[2]), { PersonID($0) }),
                let reporter = optional(parts.count == 4 ? String(parts[3]) : "", { Reporter(stored: $0) })
            else { return nil }
            (self.fence, self.deadline, self.rider, self.reporter) = (fence, deadline, rider, reporter)
        }
    }
}

extension JobFeed.State: CustomReflectable {
    /// Omits the bytes of the position, because logs must not reveal where someone is.
    package var customMirror: Mirror {
        Mirror(
            self, children: ["rider": self.rider as Any, "position": self.position == nil ? "none" : "<a place>"],
            displayStyle: .struct)
    }
}
