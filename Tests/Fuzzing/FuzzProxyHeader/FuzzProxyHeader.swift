// PROXY protocol headers, fuzzed: see Tests/Fuzzing/Checks/ProxyHeaderCheck.swift. libFuzzer is asked to run, so that this file
// has a `main` as any program; `make test-long LONG=fuzz` gives it the folders of inputs.

import CLibFuzzer
import FuzzChecks

@main struct FuzzProxyHeader {
    static func main() {
        var count = CommandLine.argc
        var words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        _ = LLVMFuzzerRunDriver(&count, &words) { start, count in FuzzCheck.proxyHeader.test(start, count) }
    }
}
