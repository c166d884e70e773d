// What waits for a slow socket, fuzzed: see Tests/Fuzzing/Checks/OutboxCheck.swift. libFuzzer is asked to run, so
// that this file has a `main` as any program; `make test-long LONG=fuzz` gives it the folders of inputs.

import CLibFuzzer
import FuzzChecks

@main struct FuzzOutbox {
    static func main() {
        var count = CommandLine.argc
        var words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        _ = LLVMFuzzerRunDriver(&count, &words) { start, count in FuzzCheck.outbox.test(start, count) }
    }
}
