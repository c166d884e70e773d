// Fuzzes the first request of a connection (Tests/Fuzzing/Checks/HTTPHeadCheck.swift). libFuzzer is called as a library, so
// that this file has an ordinary `main`; `make test-long LONG=fuzz` passes the corpus folders.

import CLibFuzzer
import FuzzChecks

@main struct FuzzHTTPHead {
    static func main() {
        var count = CommandLine.argc
        var words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        _ = LLVMFuzzerRunDriver(&count, &words) { start, count in FuzzCheck.httpHead.test(start, count) }
    }
}
