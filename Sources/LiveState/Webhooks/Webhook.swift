// A webhook as the ledger stores it: an endpoint of another system, and how it responds.

internal import Redis

/// An endpoint that receives events.
package struct Webhook: Sendable, Hashable {
    /// A key that signs requests to the endpoint.
    package struct Secret: Sendable, Hashable {
        /// `whsec_` and the key in base64.
        package var text: String
        /// When it becomes invalid, ms since the epoch; 0 for the current one.
        package var expiresAt: Int64

        package init(text: String, expiresAt: Int64) { (self.text, self.expiresAt) = (text, expiresAt) }
    }

    package let id: String
    package var url: String
    /// The kinds of events that it receives; empty for all.
    package var kinds: [LedgerEvent.Kind]
    /// The secrets, the current one first.
    package var secrets: [Secret]
    /// Whether events are delivered to it.
    package var isOn: Bool
    /// Why it was switched off; empty while it is on.
    package var offReason: String
    /// ms since the epoch
    package var createdAt: Int64
    /// Since when deliveries have been failing, ms since the epoch; `nil` while they succeed.
    package var failingSince: Int64?
    /// When an attempt last failed, accurate to about 10 s; `nil` if that is unknown.
    package var failedAt: Int64?
    /// Why the last attempt failed; empty when it succeeded.
    package var lastError: String
    /// When a delivery last succeeded.
    package var deliveredAt: Int64?
    /// Number of events that wait because an attempt failed.
    package var waiting: Int
    /// Number of events that were given up.
    package var undelivered = 0
    /// How far each shard of the stream has been read.
    package var cursors: [Int: String]

    /// Whether it receives events of this kind.
    package func receives(_ kind: LedgerEvent.Kind) -> Bool { self.kinds.isEmpty || self.kinds.contains(kind) }

    /// The secrets that sign at this time, ms since the epoch.
    package func secrets(at now: Int64) -> [String] {
        self.secrets.filter { $0.expiresAt == 0 || $0.expiresAt > now }.map(\.text)
    }

    package init(id: String, url: String, kinds: [LedgerEvent.Kind], secrets: [Secret], createdAt: Int64) {
        (self.id, self.url, self.kinds, self.secrets, self.createdAt) = (id, url, kinds, secrets, createdAt)
        (self.isOn, self.offReason, self.lastError, self.waiting, self.cursors) = (true, "", "", 0, [:])
    }

    /// - Parameter fields: of its record.
    /// - Returns: `nil` if it is not a webhook that Enroute stores.
    init?(id: String, fields: [String: String]) {
        guard id.isNonce, let url = fields["url"], !url.isEmpty, let types = fields["types"],
            let texts = fields["secrets"], let createdAt = fields["created_at"]?.timestamp
        else { return nil }
        let kinds = types.split(separator: ",").map { LedgerEvent.Kind(rawValue: String($0)) }
        let secrets = texts.split(separator: " ").map { Secret(stored: $0) }
        guard !kinds.contains(nil), !secrets.contains(nil), !secrets.isEmpty else { return nil }
        self.init(
            id: id, url: url, kinds: kinds.compactMap { $0 }, secrets: secrets.compactMap { $0 }, createdAt: createdAt)
        self.isOn = fields["state"] == "on"
        self.offReason = self.isOn ? "" : fields["off_reason"] ?? ""
        self.failingSince = fields["failing_since"]?.timestamp
        self.failedAt = fields["failed_at"]?.timestamp
        self.lastError = fields["last_error"] ?? ""
        self.deliveredAt = fields["delivered_at"]?.timestamp
        self.waiting = fields["waiting"]?.amount ?? 0
        for shard in 0..<Keyspace.eventShards {
            if let cursor = fields["cursor:\(shard)"], cursor.isStreamID { self.cursors[shard] = cursor }
        }
    }

    /// The fields of a new record.
    var fields: [RedisCommand.Word] {
        var fields: [RedisCommand.Word] = [
            "url", .text(self.url), "types", .text(self.kinds.map(\.rawValue).joined(separator: ",")), "secrets",
            .text(Self.stored(self.secrets)), "created_at", .integer(self.createdAt), "state", "on", "waiting", "0",
        ]
        for (shard, cursor) in self.cursors { fields += [.text("cursor:\(shard)"), .text(cursor)] }
        return fields
    }

    static func stored(_ secrets: [Secret]) -> String {
        secrets.map { "\($0.text):\($0.expiresAt)" }.joined(separator: " ")
    }

    /// The well-formed secrets in a stored text.
    static func secrets(stored text: String) -> [Secret] {
        text.split(separator: " ").compactMap { Secret(stored: $0) }
    }
}

extension Webhook.Secret {
    fileprivate init?(stored: Substring) {
        let parts = stored.split(separator: ":")
        guard parts.count == 2, let expiresAt = parts[1].timestamp else { return nil }
        self.init(text: String(parts[0]), expiresAt: expiresAt)
    }
}

extension String {
    /// Whether it is the id of a stream entry: `<ms>-<n>`.
    var isStreamID: Bool {
        let parts = self.split(separator: "-", omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { UInt64($0) != nil }
    }
}

extension Webhook: CustomReflectable {
    /// Omits the secrets.
    package var customMirror: Mirror {
        Mirror(
            self, children: ["id": self.id, "isOn": self.isOn, "secrets": self.secrets.count], displayStyle: .struct)
    }
}
