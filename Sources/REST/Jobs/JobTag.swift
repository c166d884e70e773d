// The entity tag of a job's state. It contains the epoch of the job's record, the ID of its newest status event, the
// revision of the record, and a digest of everything else that changes, so two gateways give the same state the same
// tag. The age of the position is left out, because it changes all the time without new information.
//
// The digest has no key, so a reader could guess its content and compare. It therefore covers only what every reader of
// the job sees. The revision and the fence, which count changes, represent the rest: the rider's ID, the zone and the
// vendor's address.

internal import EnrouteWire
internal import HTTPValues
package import Jobs
internal import LiveState

extension EntityTag {
    /// `"<epoch>.<status event>.<revision>-<digest>"`
    package init(_ view: JobView) {
        let (record, snapshot) = (view.record, view.snapshot)
        func text(_ json: [UInt8]?) -> String { json.map { String(decoding: $0, as: UTF8.self) } ?? "" }
        let eta = snapshot.eta.map { "\($0.state.rawValue) \($0.at)" } ?? ""
        let parts: [String] = [
            String(record.fence), snapshot.tracking.rawValue, snapshot.reason?.rawValue ?? "",
            snapshot.travelDeadline.map(String.init) ?? "", view.positionID.map(String.init) ?? "",
            eta, snapshot.geocoding?.rawValue ?? "", snapshot.unavailable?.rawValue ?? "",
            snapshot.lastSeenAt.map(String.init) ?? "", text(snapshot.riderCard?.json),
        ]
        self.init("\(record.epoch).\(record.head).\(record.revision)", digestOf: parts)
    }
}

/// The precondition of an `If-Match` header (RFC 9110 section 13.1.1).
enum Precondition: Hashable, Sendable {
    case none
    /// The job's newest status event is this one.
    case head(ExpectedHead)
    /// The tag cannot match any state of a job.
    case never
    /// The header is not a single entity tag.
    case malformed

    /// - Parameter header: a job's `ETag`, whose digest is ignored, or the ID of its newest status event. The quotes are
    ///   optional.
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
        // Shells and client libraries often strip the quotes.
        let isBare = !tag.isEmpty && tag.utf8.allSatisfy(Self.standsInATag)
        let quoted = isWeak ? tag.dropFirst(2) : isBare ? Substring("\"\(tag)\"") : tag
        guard quoted.count >= 2, quoted.first == "\"", quoted.last == "\"",
            !quoted.dropFirst().dropLast().contains("\"")
        else {
            self = .malformed
            return
        }
        let parts = quoted.dropFirst().dropLast().split(separator: ".", omittingEmptySubsequences: false)
        // If-Match compares strongly, so a weak tag never matches (RFC 9110 section 8.8.3.2).
        guard !isWeak, (1...3).contains(parts.count), let id = StatusID(parts[min(1, parts.count - 1)]) else {
            self = .never
            return
        }
        guard parts.count > 1 else {
            self = .head(ExpectedHead(epoch: nil, id: id))
            return
        }
        // An epoch has the syntax of an identifier.
        guard let epoch = Identifier<Void>(String(parts[0])) else {
            self = .never
            return
        }
        self = .head(ExpectedHead(epoch: epoch.text, id: id))
    }

    /// The characters of Enroute's tags: letters, digits, `.`, `_` and `-`.
    private static func standsInATag(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122, UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
    }
}
