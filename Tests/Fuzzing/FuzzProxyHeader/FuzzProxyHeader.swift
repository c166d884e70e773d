// Fuzzes PROXY protocol headers: see Tests/Fuzzing/Checks/ProxyHeaderCheck.swift. This file calls libFuzzer, so that it
// has a `main` like any program; `make test-long LONG=fuzz` passes the folders of inputs.

import CLibFuzzer
import FuzzChecks

@main struct FuzzProxyHeader {
    static func main() {
        var count = CommandLine.argc
        var words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        _ = LLVMFuzzerRunDriver(&count, &words) { start, count in FuzzCheck.proxyHeader.test(start, count) }
    }
}
