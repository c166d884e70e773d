// A hash tag for each slot of a cluster, so that a key can be put into the slot of a job. The tag of a slot is the smallest
// number whose decimal digits hash to that slot: `outbox:{5}` is in the slot of every job whose id hashes to slot 16,022.

internal import Redis

/// The tags of all slots.
enum SlotTags {
    static func tag(of slot: Int) -> Int { Int(Self.tags[slot]) }

    /// Calculated on first use, which takes some milliseconds. Only a cluster uses it.
    private static let tags: [Int32] = {
        var tags = Array(repeating: Int32(-1), count: HashSlot.count)
        var (missing, number) = (tags.count, Int32(0))
        while missing > 0 {
            let slot = HashSlot.of(String(number))
            if tags[slot] < 0 {
                tags[slot] = number
                missing -= 1
            }
            number += 1
        }
        return tags
    }()
}
