// Who is coming, and the details that the service writes for the followers of a job.

public import Foundation

/// The rider who is coming. Show it as plain text, because the service writes it.
public struct RiderCard: Codable, Hashable, Sendable {
    public let name: String?
    /// An https URL.
    public let photo: String?
    /// `bicycle`, `van` and so on.
    public let vehicle: String?
    /// The registration plate.
    public let plate: String?
    /// A `tel:` or `https:` URI of the service's relay.
    public let contact: String?
}

/// The person to whom the rider delivers, or whom the rider visits. Show it as plain text, because the service writes
/// it.
public struct Recipient: Codable, Hashable, Sendable {
    public let name: String?
    public let address: String?
    /// Floor, flat or entrance.
    public let floor: String?
    /// A `tel:` or `https:` URI.
    public let contact: String?
}

/// Details of a job that the service writes for its followers.
public struct JobDisplay: Codable, Hashable, Sendable {
    public let orderNumber: String?
    public let items: [String]
    /// May have several lines.
    public let note: String?
    /// The promised time of the delivery or visit, by the gateway's clock.
    public let window: ClosedRange<Date>?
    /// The vehicle for this job, instead of the one on the rider's card: `bicycle`, `van` and so on.
    public let vehicle: String?
}
