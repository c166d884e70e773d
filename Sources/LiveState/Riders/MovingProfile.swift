// What is stored about a rider while it moves to another zone, when neither zone has its record.

internal import EnrouteWire

/// The capacity and the card of a rider who moves to another zone, as stored: `5 {"name":"Rosa"}`, or `5 {}` without a card.
struct MovingProfile: Sendable {
    /// `nil` if a gateway of an earlier version stored only the card.
    let capacity: Int?
    let card: RiderCard?

    init(capacity: Int, card: RiderCard?) {
        self.capacity = capacity
        self.card = card
    }

    /// - Returns: `nil` unless the text is a valid profile.
    init?(stored text: String) {
        guard let start = text.firstIndex(of: "{") else { return nil }
        let number = text[..<start]
        self.capacity = number.hasSuffix(" ") ? Int(number.dropLast()) : nil
        guard self.capacity.map(Riders.capacities.contains) ?? number.isEmpty else { return nil }
        let card = String(text[start...])
        self.card = RiderCard(stored: card)
        guard self.card != nil || self.capacity != nil && card == "{}" else { return nil }
    }

    var stored: [UInt8] {
        Array("\(self.capacity.map { "\($0) " } ?? "")".utf8) + (self.card?.json ?? Array("{}".utf8))
    }
}

extension RiderCard {
    /// - Returns: `nil` unless the text is a valid card.
    init?(stored text: String) {
        guard let card = Array(text.utf8).withUnsafeBytes({ RiderCard(json: $0) }) else { return nil }
        self = card
    }
}
