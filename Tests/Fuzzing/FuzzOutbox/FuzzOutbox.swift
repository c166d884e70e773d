// Fuzzes the outbox of a slow socket (Tests/Fuzzing/Checks/OutboxCheck.swift). libFuzzer is called as a library, so that this
// file has an ordinary `main`; `make test-long LONG=fuzz` passes the corpus folders.

import CLibFuzzer
import FuzzChecks

@main struct FuzzOutbox {
    static func main() {
        var count = CommandLine.argc
        var words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        _ = LLVMFuzzerRunDriver(&count, &words) { start, count in FuzzCheck.outbox.test(start, count) }
    }
}
