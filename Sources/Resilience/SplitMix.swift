// A random number generator with a seed. The state machines are given the seed, so that a run can be repeated.

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
package struct SplitMix: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { self.state = seed }

    package mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 through `most`, distributed almost evenly.
    package mutating func upTo(_ most: UInt64) -> UInt64 { most == .max ? self.next() : self.next() % (most + 1) }
}

extension UInt64 {
    /// Nanoseconds.
    package static func milliseconds(_ count: UInt64) -> UInt64 { count * 1_000_000 }
    /// Nanoseconds.
    package static func seconds(_ count: UInt64) -> UInt64 { count * 1_000_000_000 }
}
