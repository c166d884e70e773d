// A client message with its optional `ref`. Every `ok` and `error` repeats the `ref`, so a client with several
// outstanding messages knows which one is answered.

/// A client's reference for a message: 1 to `Limits.refCharacters` characters.
public struct MessageRef: Hashable, Sendable, CustomStringConvertible {
    public let text: String

    /// - Returns: `nil` if `text` is empty or too long (in Unicode scalars).
    public init?(_ text: String) {
        guard (1...Limits.refCharacters).contains(text.unicodeScalars.count) else { return nil }
        self.text = text
    }

    public var description: String { self.text }
}

/// A client message and its `ref`.
public struct ClientRequest: Hashable, Sendable {
    public var message: ClientMessage
    public var ref: MessageRef?

    public init(_ message: ClientMessage, ref: MessageRef? = nil) {
        self.message = message
        self.ref = ref
    }

    /// Reads one message: a JSON object with a `type`. Unknown members are ignored.
    ///
    /// - Parameter bytes: valid UTF-8, checked by the caller.
    public init(_ bytes: UnsafeRawBufferPointer) throws(BadMessage) {
        if let report = LocationReport(compact: bytes) {
            self.message = .location(report)
            return
        }
        let head = try MessageHead(bytes)
        self.ref = head.ref
        let message = try ClientMessage(head.type, bytes)
        guard let ref, case .location(var report) = message else {
            self.message = message
            return
        }
        // A report may wait before it is published, and is answered only then.
        report.ref = ref
        self.message = .location(report)
    }

    /// The message as a client sends it.
    public var encoded: [UInt8] {
        let bytes = self.message.encoded
        guard let ref else { return bytes }
        var writer = JSONWriter()
        writer.object { $0.field("ref", ref.text) }
        return bytes.dropLast() + [UInt8(ascii: ",")] + writer.bytes.dropFirst()
    }
}

/// The members that every client message may have.
struct MessageHead {
    var type: String
    var ref: MessageRef?

    init(_ bytes: UnsafeRawBufferPointer) throws(BadMessage) {
        var reader = JSONReader(bytes)
        var (type, ref) = (String?.none, MessageRef?.none)
        var members = Members("the message")
        try reader.object { (name, reader) throws(BadMessage) in
            if name.equals("type") {
                guard type == nil else { throw BadMessage("the message contains type twice") }
                type = try reader.string()
            } else if name.equals("ref") {
                try members.once(0)
                guard !reader.null() else { return }
                ref = MessageRef(try reader.string())
                guard ref != nil else {
                    throw BadMessage("ref must be a string of 1 to \(Limits.refCharacters) characters")
                }
            } else {
                try reader.value()
            }
        }
        try reader.end()
        guard let type else { throw BadMessage("the message needs type") }
        (self.type, self.ref) = (type, ref)
    }
}

/// The members of a refused message that its `error` repeats, as far as they could be read.
public struct MessageOutline: Hashable, Sendable {
    /// Empty if it is not the type of a client message.
    public var type = ""
    public var job: JobID?
    public var zone: ZoneID?
    public var ref: MessageRef?

    public init() {}

    /// Reads as far as the bytes are valid JSON, and ignores invalid members.
    public init(_ bytes: UnsafeRawBufferPointer) {
        var reader = JSONReader(bytes)
        var outline = MessageOutline()
        try? reader.object { (name, reader) throws(BadMessage) in
            var value = JSONReader(try reader.value())
            if name.equals("type") {
                guard let type = try? value.string(), ClientMessage.types.contains(type) else { return }
                outline.type = type
            } else if name.equals("job") {
                outline.job = try? value.identifier("job")
            } else if name.equals("zone") {
                outline.zone = try? value.identifier("zone")
            } else if name.equals("ref") {
                outline.ref = (try? value.string()).flatMap(MessageRef.init)
            }
        }
        self = outline
    }
}

extension Refusal {
    /// Creates the refusal of a message that could not be read, or was not read.
    public init(
        _ outline: MessageOutline, code: ErrorCode, message: String, retryInMilliseconds: Int64? = nil
    ) {
        self.init(
            replyTo: outline.type, job: outline.job, zone: outline.zone, code: code, message: message,
            retryInMilliseconds: retryInMilliseconds, ref: outline.ref)
    }
}
