// Caches routes for 45 s, for queries whose points are in the same cells as those of an earlier query. The size is
// limited; the oldest entry is removed first.

internal import EnrouteWire

/// The points of a query, rounded to the accuracy that an arrival time needs.
package struct RouteCell: Hashable, Sendable {
    /// Cells per degree: 111 m from south to north, and less from west to east.
    static let perDegree = 1000.0

    private let indices: [Int32]
    private let mode: TravelMode
    private let vehicle: Vehicle?

    /// - Parameter distinguishesVehicles: whether a route may depend on the vehicle, and not only on the mode.
    package init(_ question: RouteQuery, distinguishesVehicles: Bool = false) {
        self.mode = question.mode
        self.vehicle = distinguishesVehicles ? question.vehicle : nil
        self.indices = question.places.flatMap { place in
            [place.latitude, place.longitude].map { Int32(($0 * Self.perDegree).rounded(.down)) }
        }
    }
}

package struct RouteCache: Sendable {
    /// How long a cached route is valid, in seconds.
    package static let goodSeconds = 45.0
    package static let maxAnswers = 10_000

    private struct Entry {
        var answer: SourcedRoute
        var at: UInt64
    }

    private var entries: [RouteCell: Entry] = [:]
    /// The cells in the order they were added, the oldest at `oldest`.
    private var order: [(cell: RouteCell, at: UInt64)] = []
    private var oldest = 0
    private let most: Int

    package init(most: Int = Self.maxAnswers) { self.most = most }

    package var count: Int { self.entries.count }

    package func answer(_ cell: RouteCell, now: UInt64) -> SourcedRoute? {
        guard let entry = self.entries[cell], now < entry.at + UInt64(Self.goodSeconds * 1e9) else { return nil }
        return entry.answer
    }

    package mutating func store(_ answer: SourcedRoute, _ cell: RouteCell, now: UInt64) {
        self.entries[cell] = Entry(answer: answer, at: now)
        self.order.append((cell, now))
        let expired = UInt64(Self.goodSeconds * 1e9)
        while self.oldest < self.order.count {
            let (cell, at) = self.order[self.oldest]
            guard self.entries.count > self.most || now >= at + expired else { break }
            // A renewed cell also has a later entry in the order.
            if self.entries[cell]?.at == at { self.entries[cell] = nil }
            self.oldest += 1
        }
        if self.oldest > 1024, self.oldest * 2 > self.order.count {
            self.order.removeFirst(self.oldest)
            self.oldest = 0
        }
    }
}

/// A route and the provider that calculated it.
package struct SourcedRoute: Hashable, Sendable {
    package let answer: RouteAnswer
    package let source: ArrivalSource
    /// The points of the query after the start.
    let stops: [Coordinate]

    init(answer: RouteAnswer, source: ArrivalSource, stops: [Coordinate] = []) {
        (self.answer, self.source, self.stops) = (answer, source, stops)
    }

    /// The route for a query with points in the same cells. If the line leads to other points, it is dropped, because
    /// it would show where another job ends.
    func shared(with question: RouteQuery) -> SourcedRoute {
        guard self.answer.line != nil, !self.stops.elementsEqual(question.places.dropFirst()) else { return self }
        return SourcedRoute(answer: self.answer.withoutLine, source: self.source)
    }
}
