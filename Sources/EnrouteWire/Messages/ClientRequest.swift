// A message from a client with the name that the client gave it, if it did: `ref`, which every `ok` and `error` repeats, so
// that a client with several messages on their way knows which of them is answered.

/// What a client calls one of its messages: 1 to `Limits.refCharacters` characters of its own choice.
public struct MessageRef: Hashable, Sendable, CustomStringConvertible {
    public let text: String

    /// - Parameter text: `nil` comes back when it is empty or too long (in Unicode scalars).
    public init?(_ text: String) {
        guard (1...Limits.refCharacters).contains(text.unicodeScalars.count) else { return nil }
        self.text = text
    }

    public var description: String { self.text }
}

/// One message from a client, and its name.
public struct ClientRequest: Hashable, Sendable {
    public var message: ClientMessage
    public var ref: MessageRef?

    public init(_ message: ClientMessage, ref: MessageRef? = nil) {
        self.message = message
        self.ref = ref
    }

    /// Reads one message: a JSON object with a `type`. Members it does not know are passed over.
    ///
    /// - Parameter bytes: UTF-8, checked by the caller.
    public init(_ bytes: UnsafeRawBufferPointer) throws(BadMessage) {
        let head = try MessageHead(bytes)
        self.ref = head.ref
        let message = try ClientMessage(head.type, bytes)
        guard let ref, case .location(var report) = message else {
            self.message = message
            return
        }
        // A report may wait to be published, and is answered then.
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

/// What stands in every message of a client, wherever it stands.
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

/// As much as can be read of a message that is refused: what its `error` names.
public struct MessageOutline: Hashable, Sendable {
    /// Empty where it is not one of a client's.
    public var type = ""
    public var job: JobID?
    public var zone: ZoneID?
    public var ref: MessageRef?

    public init() {}

    /// Reads as far as the bytes are JSON, and passes over what makes no sense.
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
    /// Of a message that could not be read, or was not to be.
    public init(
        _ outline: MessageOutline, code: ErrorCode, message: String, retryInMilliseconds: Int64? = nil
    ) {
        self.init(
            replyTo: outline.type, job: outline.job, zone: outline.zone, code: code, message: message,
            retryInMilliseconds: retryInMilliseconds, ref: outline.ref)
    }
}
