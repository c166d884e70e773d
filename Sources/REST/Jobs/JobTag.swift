// The tag of a job's state: which record, which status event, and a digest of all else that a reader sees. Two gateways give
// the same state the same tag. The age of the position is left out: it grows by itself, and says nothing new.

internal import EnrouteWire
internal import HTTPValues
package import Jobs
internal import LiveState

extension EntityTag {
    /// `"<epoch>.<status event>.<digest>"`
    package init(_ view: JobView) {
        let (record, snapshot) = (view.record, view.snapshot)
        func text(_ place: Coordinate?) -> String { place.map { String(decoding: $0.json, as: UTF8.self) } ?? "" }
        let eta = snapshot.eta.map { "\($0.state.rawValue) \($0.at)" } ?? ""
        let parts = [
            record.kind.rawValue, record.customer.text, record.rider?.text ?? "", record.zone?.text ?? "",
            text(record.destination), text(record.vendor?.place), record.vendor?.name ?? "",
            record.vendor?.address ?? "", String(record.fence), snapshot.tracking.rawValue,
            snapshot.reason?.rawValue ?? "",
            snapshot.travelDeadline.map(String.init) ?? "", view.positionID.map(String.init) ?? "",
            eta, snapshot.geocoding?.rawValue ?? "", snapshot.unavailable?.rawValue ?? "",
        ]
        self.init("\(record.epoch).\(record.head)", digestOf: parts)
    }
}

/// What an `If-Match` header asks for (RFC 9110 section 13.1.1).
enum Precondition: Hashable, Sendable {
    case none
    /// The job's newest status event is this one.
    case head(ExpectedHead)
    /// A tag that no state of a job has.
    case never
    /// Not one entity tag.
    case malformed

    /// - Parameter header: a job's `ETag`, of which the digest does not count, or the id of its newest status event in
    ///   quotes, which may be missing.
    init(ifMatch header: String?) {
        guard let header else {
            self = .none
            return
        }
        let tag = header.trimmed
        if tag == "*" {
            self = .none
            return
        }
        let isWeak = tag.hasPrefix("W/")
        // Quotes are often lost on the way through a shell or a client's own idea of the header.
        let isBare = !tag.isEmpty && tag.utf8.allSatisfy(Self.standsInATag)
        let quoted = isWeak ? tag.dropFirst(2) : isBare ? Substring("\"\(tag)\"") : tag
        guard quoted.count >= 2, quoted.first == "\"", quoted.last == "\"",
            !quoted.dropFirst().dropLast().contains("\"")
        else {
            self = .malformed
            return
        }
        let parts = quoted.dropFirst().dropLast().split(separator: ".", omittingEmptySubsequences: false)
        // A weak tag never fits: RFC 9110 section 8.8.3.2.
        guard !isWeak, (1...3).contains(parts.count), let id = StatusID(parts[min(1, parts.count - 1)]) else {
            self = .never
            return
        }
        guard parts.count > 1 else {
            self = .head(ExpectedHead(epoch: nil, id: id))
            return
        }
        // An epoch is written like a name.
        guard let epoch = Identifier<Void>(String(parts[0])) else {
            self = .never
            return
        }
        self = .head(ExpectedHead(epoch: epoch.text, id: id))
    }

    /// Letters, digits, `.`, `_` and `-`, of which our tags are made.
    private static func standsInATag(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122, UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
    }
}
