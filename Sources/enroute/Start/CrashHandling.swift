// A gateway that crashes leaves no personal data behind and exits immediately. Its clients then reconnect to another gateway
// within a second, instead of waiting for a process that is writing a backtrace.

import CCrashMessage
import Foundation
import Glibc

/// Makes a crash quick and discreet: no core dump, no backtrace, and no wait for a reader of its message.
func prepareForCrash() {
    disableCoreDumps()
    enroute_bound_crash_message()
    exitImmediatelyOnCrash()
}

/// Disables core dumps, which would contain locations and tokens.
private func disableCoreDumps() {
    var limit = rlimit(rlim_cur: 0, rlim_max: 0)
    _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
}

/// Removes the signal handlers of Swift's backtracer. Where `swift-backtrace` is installed, the runtime runs it on a crash:
/// that takes ten seconds or more, during which sessions hang, and logs registers and the memory they point to. The handlers
/// are installed before `main`, so setting `SWIFT_BACKTRACE` now would have no effect. `SWIFT_BACKTRACE=enable=yes` keeps them.
private func exitImmediatelyOnCrash() {
    let setting = ProcessInfo.processInfo.environment["SWIFT_BACKTRACE"] ?? ""
    let options = setting.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    guard !options.contains(where: { ["enable=yes", "enable=on", "enable=true", "enable=1"].contains($0) }) else {
        return
    }
    for crash in [SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP] { signal(crash, SIG_DFL) }
}
