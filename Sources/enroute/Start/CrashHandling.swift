// What a gateway leaves behind when it crashes: nothing that says where riders are. And how it crashes: at once, so that its
// clients are with another gateway in a second and do not hang on a process that is being examined.

import Foundation
import Glibc

/// A core holds where riders are, and tokens: a gateway that crashes leaves none.
func keepCoresFromDisk() {
    var limit = rlimit(rlim_cur: 0, rlim_max: 0)
    _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
}

/// Swift's runtime examines a process that crashes, where it finds its `swift-backtrace`: that takes ten seconds and more, in
/// which sessions hang, and writes registers and the memory they point to into the log. Its signal handlers stand before `main`,
/// so they are taken away here; setting `SWIFT_BACKTRACE` now would be too late. Whoever sets `SWIFT_BACKTRACE` to
/// `enable=yes` wants to see it, and does.
func endAtOnceOnCrash() {
    let setting = ProcessInfo.processInfo.environment["SWIFT_BACKTRACE"] ?? ""
    let words = setting.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    guard !words.contains(where: { ["enable=yes", "enable=on", "enable=true", "enable=1"].contains($0) }) else {
        return
    }
    for crash in [SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP] { signal(crash, SIG_DFL) }
}
