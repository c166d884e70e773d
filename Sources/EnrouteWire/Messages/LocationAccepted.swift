// The answer to an accepted location. It is sent as often as locations, so it is written directly in its fixed form;
// `ServerMessage.ok` writes the same bytes.

extension ServerMessage {
    /// Returns `ok` for a location without `ref`.
    package static func locationAccepted(_ job: JobID, sequence: Int64) -> [UInt8] {
        let most =
            #"{"type":"ok","replyTo":"location","job":"","seq":}"#.utf8.count + JobID.longest
            + ByteWriter.maxNumberBytes
        return [UInt8](unsafeUninitializedCapacity: most) { room, count in
            var writer = ByteWriter(UnsafeMutableRawBufferPointer(room))
            writer.text(#"{"type":"ok","replyTo":"location","job":""#)
            writer.text(job.text)
            writer.text(#"","seq":"#)
            writer.number(sequence)
            writer.byte(UInt8(ascii: "}"))
            count = writer.count
        }
    }
}
