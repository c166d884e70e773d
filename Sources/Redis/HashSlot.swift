// The cluster slot of a key or a channel (https://redis.io/docs/reference/cluster-spec/).

/// 0 to 16383.
package enum HashSlot {
    package static let count = 16_384

    /// CRC16 of the key's hash tag, which is the text between the first `{` and the next `}`, or of the whole key.
    package static func of(_ key: some Sequence<UInt8>) -> Int {
        let bytes = Array(key)
        guard let open = bytes.firstIndex(of: UInt8(ascii: "{")),
            let close = bytes[(open + 1)...].firstIndex(of: UInt8(ascii: "}")), close > open + 1
        else { return Int(Self.crc16(bytes[...])) % Self.count }
        return Int(Self.crc16(bytes[(open + 1)..<close])) % Self.count
    }

    package static func of(_ key: String) -> Int { Self.of(key.utf8) }

    /// CRC-16/XMODEM: polynomial 0x1021, initial value 0.
    private static func crc16(_ bytes: ArraySlice<UInt8>) -> UInt16 {
        bytes.reduce(0) { crc, byte in (crc << 8) ^ Self.table[Int(UInt8(crc >> 8) ^ byte)] }
    }

    private static let table: [UInt16] = (0..<256).map { byte in
        (0..<8).reduce(UInt16(byte) << 8) { crc, _ in crc & 0x8000 == 0 ? crc << 1 : (crc << 1) ^ 0x1021 }
    }
}

extension RedisCommand {
    /// The slot of the first key; `nil` without keys.
    var slot: Int? {
        let place: Int
        switch self.words.first?.text?.uppercased() {
        case "EVALSHA"?, "EVAL"?: place = 3
        // PUBSUB SHARDNUMSUB channel: a node counts only its own subscribers.
        case "PUBSUB"?: place = 2
        case "PING"?, "TIME"?, "INFO"?, "ROLE"?, "WAIT"?, "CONFIG"?, "CLUSTER"?, "ACL"?, "CLIENT"?, "SCRIPT"?:
            return nil
        default: place = 1
        }
        guard self.words.count > place else { return nil }
        switch self.words[place] {
        case .text(let text): return HashSlot.of(text)
        case .bytes(let bytes): return HashSlot.of(bytes)
        }
    }
}

extension RedisCommand.Word {
    var text: String? { if case .text(let text) = self { text } else { nil } }
}
